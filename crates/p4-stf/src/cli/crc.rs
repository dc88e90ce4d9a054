//! Parameters of CRCs.

use super::values;
use p4_arch::v1model::CrcParameters;

/// Polynomial, initial remainder, final xor, and whether data and remainder are reflected.
pub fn parameters(width: u32, args: &[String]) -> Result<CrcParameters, String> {
    let number = |at: usize| {
        let text = args.get(at).map_or("", String::as_str);
        values::number(&hexadecimal(text), width)
            .map(|value| value.iter_u64_digits().next().unwrap_or(0))
    };
    let truth = |at: usize| {
        let text = args.get(at).map_or("", String::as_str);
        match text.to_lowercase().as_str() {
            "true" | "1" | "yes" | "y" | "t" => Ok(true),
            "false" | "0" | "no" | "n" | "f" => Ok(false),
            _ => Err(format!("`{text}` is neither true nor false")),
        }
    };
    Ok(CrcParameters {
        width,
        polynomial: number(0)?,
        initial: number(1)?,
        xor: number(2)?,
        reflect_data: truth(3)?,
        reflect_remainder: truth(4)?,
    })
}

/// The command line takes these numbers as hexadecimal, with or without `0x`.
fn hexadecimal(text: &str) -> String {
    format!("0x{}", text.trim_start_matches("0x"))
}
