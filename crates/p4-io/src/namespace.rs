//! A network of one's own for a measurement or a test, which leaves nothing behind.

use std::io;
use std::process::Command;

use crate::error::IoError;
use crate::sys;

/// Runs `action` in a thread that has left the machine's network for an empty one of its own. The kernel removes that one,
/// with all interfaces, when nothing runs in it any more.
pub fn in_own_namespace<R: Send + 'static>(
    action: impl FnOnce() -> Result<R, IoError> + Send + 'static,
) -> Result<R, IoError> {
    let thread = std::thread::spawn(move || {
        // SAFETY: takes no pointers; only this thread and those it starts are affected.
        sys::check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
            .map_err(|cause| IoError::at("lo", "make a network namespace", cause))?;
        action()
    });
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs the `ip` command; `interface` is what an error message will name.
pub fn ip(interface: &str, arguments: &[&str]) -> Result<(), IoError> {
    let fail = |cause| IoError::at(interface, "run `ip` (Debian package iproute2)", cause);
    let output = Command::new("ip").args(arguments).output().map_err(fail)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(fail(io::Error::other(message)))
}
