//! A ring that the kernel and we share: one side produces, the other consumes.

use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::Mapping;

/// One of the four rings of an AF_XDP socket (Documentation/networking/af_xdp.rst). `T` is `u64` for
/// addresses or [`libc::xdp_desc`] for frames, both plain integers.
pub(super) struct Ring<T> {
    map: Mapping,
    at: libc::xdp_ring_offset,
    mask: u32,
    /// Our own index: of the next entry that we produce or consume.
    ours: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps the ring of `size` entries (a power of two) that the socket offers at `page_offset`.
    pub(super) fn map(
        socket: &OwnedFd,
        at: libc::xdp_ring_offset,
        page_offset: i64,
        size: u32,
    ) -> io::Result<Ring<T>> {
        let length = at.desc as usize + size as usize * size_of::<T>();
        let map = Mapping::of_file(socket, page_offset, length)?;
        Ok(Ring {
            map,
            at,
            mask: size - 1,
            ours: 0,
            entries: PhantomData,
        })
    }

    fn index(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel has placed an aligned 32-bit index at this offset of the mapping, which
        // lives as long as `self` and is touched atomically only, by us and by the kernel.
        unsafe { &*self.map.at(offset as usize).cast::<AtomicU32>() }
    }

    fn entry(&self, index: u32) -> *mut T {
        let slot = (index & self.mask) as usize;
        self.map
            .at(self.at.desc as usize + slot * size_of::<T>())
            .cast()
    }

    /// Entries that the kernel has produced and we have not consumed.
    pub(super) fn waiting(&self) -> u32 {
        let produced = self.index(self.at.producer).load(Ordering::Acquire);
        produced.wrapping_sub(self.ours)
    }

    /// Consumes the next entry; only after [`Ring::waiting`] has said that there is one.
    pub(super) fn take(&mut self) -> T {
        // SAFETY: the entry lies in the mapping, is ours until `release`, and any bytes are a `T`.
        let entry = unsafe { self.entry(self.ours).read() };
        self.ours = self.ours.wrapping_add(1);
        entry
    }

    /// Gives consumed entries back to the kernel.
    pub(super) fn release(&self) {
        self.index(self.at.consumer)
            .store(self.ours, Ordering::Release);
    }

    /// Entries that we may produce.
    pub(super) fn room(&self) -> u32 {
        self.mask + 1 - self.ours.wrapping_sub(self.consumed())
    }

    /// Produces an entry; only after [`Ring::room`] has said that there is room.
    pub(super) fn put(&mut self, entry: T) {
        self.set(self.ours, entry);
        self.ours = self.ours.wrapping_add(1);
    }

    /// Hands produced entries to the kernel.
    pub(super) fn publish(&self) {
        self.index(self.at.producer)
            .store(self.ours, Ordering::Release);
    }

    /// How far the kernel has consumed what we have produced.
    pub(super) fn consumed(&self) -> u32 {
        self.index(self.at.consumer).load(Ordering::Acquire)
    }

    /// Our own index.
    pub(super) fn ours(&self) -> u32 {
        self.ours
    }

    /// A produced entry that the kernel has not taken back into use.
    pub(super) fn get(&self, index: u32) -> T {
        // SAFETY: the entry lies in the mapping; the kernel only reads rings that we produce.
        unsafe { self.entry(index).read() }
    }

    /// Changes an entry of a ring that we produce.
    pub(super) fn set(&mut self, index: u32, entry: T) {
        // SAFETY: as in `get`; the kernel reads it in a system call of this thread only, or after
        // `publish`.
        unsafe { self.entry(index).write(entry) };
    }
}
