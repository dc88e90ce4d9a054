//! Files of the disk for the front end, which reads nothing itself.

use p4_syntax::{FileProvider, Limits};
use std::fs::File;
use std::io::Read;

/// Reads regular files up to a size; a device, pipe or directory could block or never end.
pub struct DiskFiles {
    max_bytes: u64,
}

impl DiskFiles {
    pub fn new(limits: &Limits) -> DiskFiles {
        DiskFiles {
            max_bytes: limits.max_file_bytes as u64,
        }
    }

    fn read_text(&self, path: &str) -> Result<String, String> {
        as_text(read_regular_file(path, self.max_bytes)?)
    }
}

impl FileProvider for DiskFiles {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
            Ok(_) => Some(self.read_text(path)),
        }
    }
}

/// The text of a file; the error says which line was saved in another encoding.
pub fn as_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let right = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = right.iter().filter(|&&byte| byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8; save the file as UTF-8")
    })
}

/// The bytes of a regular file of at most `max_bytes`; the error is half a sentence about the file.
pub fn read_regular_file(path: &str, max_bytes: u64) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_string());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!("it is larger than {max_bytes} bytes"));
    }
    Ok(bytes)
}
