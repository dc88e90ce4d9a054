//! Things that come and go, by their numbers: no allocation once the most at a time were there.

/// Not a number of anything
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    alive: Vec<bool>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            items: Vec::new(),
            alive: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.items[id as usize] = item;
            self.alive[id as usize] = true;
            return id;
        }
        self.items.push(item);
        self.alive.push(true);
        (self.items.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) {
        debug_assert!(self.alive[id as usize], "{id} is freed twice");
        self.alive[id as usize] = false;
        self.free.push(id);
    }

    /// How many there are.
    pub(crate) fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// One above the largest number that ever was.
    pub(crate) fn size(&self) -> usize {
        self.items.len()
    }

    /// All that are there, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let alive = self.items.iter().zip(&self.alive).enumerate();
        alive.filter_map(|(id, (item, alive))| alive.then_some((id as u32, item)))
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: u32) -> &T {
        &self.items[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.items[id as usize]
    }
}

/// First in, first out, through the `next` fields of what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// What can be in a list.
pub(crate) trait Linked {
    fn next(&mut self) -> &mut u32;
    fn after(&self) -> u32;
}

impl List {
    pub(crate) const EMPTY: List = List {
        first: NONE,
        last: NONE,
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    #[inline]
    pub(crate) fn append<T: Linked>(&mut self, id: u32, slab: &mut Slab<T>) {
        *slab[id].next() = NONE;
        match self.first {
            NONE => self.first = id,
            _ => *slab[self.last].next() = id,
        }
        self.last = id;
    }

    #[inline]
    pub(crate) fn take<T: Linked>(&mut self, slab: &mut Slab<T>) -> Option<u32> {
        let id = self.first;
        if id == NONE {
            return None;
        }
        self.first = *slab[id].next();
        if self.first == NONE {
            self.last = NONE;
        }
        Some(id)
    }

    /// Puts one in front of `next`, which is in the list.
    pub(crate) fn put_before<T: Linked>(&mut self, id: u32, next: u32, slab: &mut Slab<T>) {
        *slab[id].next() = next;
        if self.first == next {
            self.first = id;
            return;
        }
        let mut at = self.first;
        while *slab[at].next() != next {
            at = *slab[at].next();
        }
        *slab[at].next() = id;
    }

    /// All of it, in order.
    pub(crate) fn each<T: Linked>(&self, slab: &Slab<T>) -> Vec<u32> {
        let mut at = self.first;
        let mut found = Vec::new();
        while at != NONE {
            found.push(at);
            at = slab[at].after();
        }
        found
    }

    /// Takes out the one after `before`, or the first one.
    pub(crate) fn take_after<T: Linked>(&mut self, before: u32, slab: &mut Slab<T>) -> Option<u32> {
        if before == NONE {
            return self.take(slab);
        }
        let id = *slab[before].next();
        if id == NONE {
            return None;
        }
        let next = *slab[id].next();
        *slab[before].next() = next;
        if self.last == id {
            self.last = before;
        }
        Some(id)
    }
}
