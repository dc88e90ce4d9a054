//! `file:` addresses and paths.

/// The path that an address names; other addresses (`untitled:`) stand for themselves.
pub(crate) fn to_path(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_string();
    };
    // file://host/path
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let mut bytes = Vec::with_capacity(path.len());
    let mut at = 0;
    while at < path.len() {
        let escape = path.get(at + 1..at + 3);
        let code = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (path.as_bytes()[at], code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                at += 3;
            }
            (byte, _) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    normal(&String::from_utf8_lossy(&bytes))
}

/// The address of an absolute path.
pub(crate) fn from_path(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_string();
    }
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A path without `.` and `..`; addresses of other kinds stay as they are.
pub(crate) fn normal(path: &str) -> String {
    if !path.starts_with('/') && path.contains(':') {
        return path.to_string();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}

/// The folder a file is in.
pub(crate) fn folder(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(end) => &path[..end],
        None => "",
    }
}

/// Whether a normal path lies in a normal folder or below.
pub(crate) fn is_in(path: &str, folder: &str) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'),
        None => false,
    }
}

/// `target` as seen from `folder`.
pub(crate) fn join(folder: &str, target: &str) -> String {
    match target.starts_with('/') || folder.is_empty() {
        true => normal(target),
        false => normal(&format!("{folder}/{target}")),
    }
}

/// How a file in `folder` names the file at `path`; both are absolute.
pub(crate) fn relative(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; from.len() - common];
    parts.extend(&to[common..]);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_to_an_address_and_back() {
        for path in ["/a/b.p4", "/a b/ü%20.p4", "/"] {
            assert_eq!(to_path(&from_path(path)), path);
        }
        assert_eq!(to_path("untitled:Untitled-1"), "untitled:Untitled-1");
        assert_eq!(to_path("file:///a%2Fb%zz%"), "/a/b%zz%");
        assert_eq!(relative("/a/b", "/a/c/d.p4"), "../c/d.p4");
        assert_eq!(normal("/a/./b/../../../c"), "/c");
        assert!(
            is_in("/a/b", "/a") && is_in("/a", "/a") && !is_in("/ab", "/a") && is_in("/a", "/")
        );
    }
}
