//! The math unit of a stateful ALU: powers of a number by a table of its four uppermost bits.

use p4_ir::ir::{ConstArg, Instance};

/// A math unit. Its result is a table entry, shifted by what is left of the number's exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Math {
    invert: bool,
    /// -1: the root, 0: the number, 1: the square
    power: i32,
    scale: i32,
    table: [u8; 16],
}

impl Math {
    /// The unit that an instance describes; `None` if its arguments make no sense.
    pub fn of(instance: &Instance) -> Option<Math> {
        let number = |at: usize| match instance.args.get(at) {
            Some(ConstArg::Int(value)) => i64::try_from(value).ok(),
            _ => None,
        };
        match instance.args.first()? {
            ConstArg::Member(op) => {
                let (power, invert) = match &**op {
                    "MUL" => (0, false),
                    "SQR" => (1, false),
                    "SQRT" => (-1, false),
                    "DIV" => (0, true),
                    "RSQR" => (1, true),
                    "RSQRT" => (-1, true),
                    _ => return None,
                };
                let factor = match (number(1)?, number(2)) {
                    (_, Some(0)) => return None,
                    (a, Some(b)) => a as f64 / b as f64,
                    (a, None) => a as f64,
                };
                (factor > 0.0).then(|| Math::computed(power, invert, factor))
            }
            ConstArg::Bool(invert) => {
                let ConstArg::List(entries) = instance.args.get(3)? else {
                    return None;
                };
                let mut table = [0; 16];
                // The first entry is the uppermost.
                for (entry, slot) in entries.iter().zip(table.iter_mut().rev()) {
                    if let ConstArg::Int(value) = entry {
                        *slot = u8::try_from(value).ok()?;
                    }
                }
                Some(Math {
                    invert: *invert,
                    power: number(1)?.clamp(-1, 1) as i32,
                    scale: number(2)?.clamp(-32, 31) as i32,
                    table,
                })
            }
            _ => None,
        }
    }

    /// The table for `factor` times the function, as fine as eight bits can hold it.
    fn computed(power: i32, invert: bool, factor: f64) -> Math {
        let function = |x: f64| {
            let value = match power {
                -1 => x.sqrt(),
                0 => x,
                _ => x * x,
            };
            factor * if invert { 1.0 / value } else { value }
        };
        let first = if power < 0 { 4 } else { 8 };
        let values = (first..16).map(|i| function(i as f64 / 8.0));
        let largest = values.fold(0.0, f64::max);
        // floor(log2(largest)) is the number's own exponent.
        let exponent = ((largest.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let scale = (exponent - 7).clamp(-32, 31);
        let mut table = [0; 16];
        for (i, entry) in table.iter_mut().enumerate().skip(first) {
            let value = function(i as f64 / 8.0) * 2f64.powi(-scale);
            *entry = value.round_ties_even().clamp(0.0, 255.0) as u8;
        }
        Math {
            invert,
            power,
            scale,
            table,
        }
    }

    pub fn execute(&self, input: u32) -> u32 {
        let mut leading = 31 - (input | 1).leading_zeros() as i32;
        let power = match self.power {
            -1 => {
                leading += leading & 1;
                leading / 2
            }
            0 => leading,
            _ => leading * 2,
        };
        let shift = if self.invert { -power } else { power } + self.scale;
        let index = ((u64::from(input) << 3) >> leading) & 0xf;
        let entry = u32::from(self.table[index as usize]);
        match shift {
            0..=31 => entry << shift,
            -31..=-1 => entry >> -shift,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, programs that need a quotient or a root get another number. A table of four
    // bits is off by up to an eighth and the rounding of its entry.
    #[test]
    fn approximates_its_functions() {
        for (power, invert, factor, function) in [
            (0, false, 3.0, (|x| 3.0 * x) as fn(f64) -> f64),
            (1, false, 1.0, |x| x * x),
            (-1, false, 1.0, f64::sqrt),
            (0, true, 1e6, |x| 1e6 / x),
            (1, true, 1e9, |x| 1e9 / (x * x)),
            (-1, true, 1e6, |x| 1e6 / x.sqrt()),
        ] {
            let math = Math::computed(power, invert, factor);
            for input in [1u32, 2, 3, 7, 10, 100, 999, 1_000, 4_096, 20_000] {
                let (got, exact) = (f64::from(math.execute(input)), function(f64::from(input)));
                let most = exact * 0.3 + 1.0;
                assert!(
                    (got - exact).abs() <= most,
                    "{power} {invert} {input}: {got} {exact}"
                );
            }
        }
        assert_eq!(Math::computed(0, false, 2.0).execute(8), 16);
        assert_eq!(
            Math::computed(0, true, 1.0).execute(0),
            0,
            "nothing by nothing"
        );
    }
}
