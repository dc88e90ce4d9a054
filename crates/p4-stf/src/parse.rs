//! Text to [`Script`], one command a line. Reading never fails: every line that says nothing known
//! is an error with its place and a remedy, and the other lines are read all the same.

use crate::cli;
use crate::cursor::{Cursor, Result};
use crate::script::*;
use p4_syntax::edit_distance;

/// Every command with how it is written; the text is the remedy of most errors.
const COMMANDS: &[(&str, &str)] = &[
    ("packet", "packet PORT HEXBYTES"),
    (
        "expect",
        "expect PORT [HEXBYTES] [$], where * stands for any digit",
    ),
    ("no_packet", "no_packet [PORT]"),
    (
        "add",
        "add TABLE [PRIORITY] KEY:VALUE... ACTION(ARG:VALUE, ...) [= LABEL]",
    ),
    ("setdefault", "setdefault TABLE ACTION(ARG:VALUE, ...)"),
    ("remove", "remove all, or remove LABEL"),
    (
        "check_counter",
        "check_counter COUNTER(INDEX) [packets|bytes == NUMBER]",
    ),
    (
        "check_register",
        "check_register REGISTER(INDEX) [lo|hi] == NUMBER",
    ),
    ("selector", "selector SELECTOR(GROUP) add MEMBER, ..."),
    ("load", "load FILE"),
    ("wait", "wait"),
    (
        "cli",
        "cli COMMAND, and its replies in lines that begin with |",
    ),
    ("out", "out PORT [HEXBYTES]"),
    ("switch", "switch died CODE"),
];

const MAX_PORT: u64 = 511;
const MAX_U32: u64 = u32::MAX as u64;
const MAX_PACKET_BYTES: usize = 65_535;

/// Reads a whole script. `name` is what messages call it.
pub fn parse(name: &str, text: &str) -> Script {
    let mut script = Script {
        name: name.to_string(),
        ..Script::default()
    };
    for (index, text) in text.lines().enumerate() {
        let mut cursor = Cursor::new(index as u32 + 1, text);
        if cursor.at_end() {
            continue;
        }
        let place = cursor.place();
        match command(&mut cursor) {
            Ok(command) => script.commands.push((place, command)),
            Err(error) => script.errors.push(error),
        }
    }
    script
}

fn command(line: &mut Cursor) -> Result<Command> {
    let place = line.place();
    let word = line.word();
    line.in_cli_command =
        cli::PREFIXES.iter().any(|prefix| word.starts_with(prefix)) || cli::usage(&word).is_some();
    if word.starts_with('|') {
        let reply = line.take(|_| true);
        return Ok(Command::Reply { text: reply });
    }
    if let Some(read) = cli::read(&word, line) {
        return Ok(Command::Cli(read?));
    }
    let Some((_, usage)) = COMMANDS.iter().find(|(name, _)| *name == word) else {
        return Err(line.error_at(place, format!("unknown command `{word}`"), unknown(&word)));
    };
    let usage = &format!("write: {usage}");
    let command = match word.as_str() {
        "packet" => Command::Packet {
            port: port(line, usage)?,
            data: bytes(line, usage)?,
        },
        "expect" => Command::Expect {
            port: port(line, usage)?,
            pattern: pattern(line, usage)?,
        },
        "no_packet" if line.at_end() => Command::NoPacket { port: None },
        "no_packet" => Command::NoPacket {
            port: Some(port(line, usage)?),
        },
        "add" => Command::Add(add(line, usage)?),
        "setdefault" => Command::SetDefault {
            table: line.name("a table name", usage)?,
            action: action(line, usage)?,
        },
        "remove" => {
            let label = line.name("`all` or a label", usage)?;
            Command::Remove {
                label: (label != "all").then(|| bare_label(&label)),
            }
        }
        "check_counter" => check_counter(line, usage)?,
        "check_register" => {
            let (register, index) = cell(line, usage)?;
            let CounterIndex::Cell(index) = index else {
                return Err(line.error("a register has no entries", usage));
            };
            let half = match (line.eat("lo"), line.eat("hi")) {
                (true, _) => Some(Half::Lo),
                (_, true) => Some(Half::Hi),
                _ => None,
            };
            let (compare, value) = (comparison(line, usage)?, line.big(usage)?);
            Command::CheckRegister {
                register,
                index,
                half,
                compare,
                value,
            }
        }
        "selector" => selector(line, usage)?,
        "load" => {
            line.take(|_| true);
            Command::Load
        }
        "cli" => {
            let place = line.place();
            let word = line.word();
            line.in_cli_command = true;
            let read = cli::read(&word, line).unwrap_or_else(|| {
                Err(line.error_at(place, format!("unknown command `{word}`"), unknown(&word)))
            });
            return Ok(Command::Recorded(read?));
        }
        "out" => {
            let (port, mut pattern) = (port(line, usage)?, pattern(line, usage)?);
            pattern.get_or_insert_default().ends = true;
            Command::Expect { port, pattern }
        }
        "switch" => {
            line.want("died", usage)?;
            line.take(|_| true);
            Command::Died
        }
        _ => Command::Wait,
    };
    line.finish(usage)?;
    Ok(command)
}

fn port(line: &mut Cursor, usage: &str) -> Result<Port> {
    line.small("a port", MAX_PORT, usage)
}

fn index(line: &mut Cursor, usage: &str) -> Result<u64> {
    line.small("an index", MAX_U32, usage)
}

/// `NAME(INDEX)` or `NAME INDEX`
fn cell(line: &mut Cursor, usage: &str) -> Result<(String, CounterIndex)> {
    let name = line.name("a name", usage)?;
    let brackets = line.eat("(");
    let cell = if line.peek() == Some('$') {
        CounterIndex::Entry(bare_label(&line.name("a label", usage)?))
    } else {
        CounterIndex::Cell(index(line, usage)?)
    };
    if brackets {
        line.want(")", usage)?;
    }
    Ok((name, cell))
}

fn selector(line: &mut Cursor, usage: &str) -> Result<Command> {
    let (selector, group) = cell(line, usage)?;
    let CounterIndex::Cell(group) = group else {
        return Err(line.error("a group has a number", usage));
    };
    line.want("add", usage)?;
    let mut members = Vec::new();
    while !line.at_end() {
        members.push(line.small("a member", MAX_U32, usage)?);
        line.eat(",");
    }
    // The number was read as one of 32 bits.
    let group = u32::try_from(group).unwrap_or(u32::MAX);
    Ok(Command::Selector {
        selector,
        group,
        members,
    })
}

fn check_counter(line: &mut Cursor, usage: &str) -> Result<Command> {
    let (counter, index) = cell(line, usage)?;
    if line.at_end() {
        return Ok(Command::CheckCounter {
            counter,
            index,
            check: None,
        });
    }
    let unit = if line.eat("packets") {
        Unit::Packets
    } else if line.eat("bytes") {
        Unit::Bytes
    } else {
        return Err(line.error(
            format!("expected `packets` or `bytes`{}", line.found()),
            usage,
        ));
    };
    let check = Some((unit, comparison(line, usage)?, line.big(usage)?));
    Ok(Command::CheckCounter {
        counter,
        index,
        check,
    })
}

fn comparison(line: &mut Cursor, usage: &str) -> Result<Compare> {
    let all = [
        ("==", Compare::Eq),
        ("!=", Compare::Ne),
        ("<=", Compare::Le),
        (">=", Compare::Ge),
        ("<", Compare::Lt),
        (">", Compare::Gt),
        ("=", Compare::Eq),
    ];
    for (text, compare) in all {
        if line.eat(text) {
            return Ok(compare);
        }
    }
    Err(line.error(
        format!("expected a comparison such as `==`{}", line.found()),
        usage,
    ))
}

fn bytes(line: &mut Cursor, usage: &str) -> Result<Vec<u8>> {
    let start = line.place();
    let mut nibbles = Vec::new();
    while let Some(c) = line.peek() {
        match c.to_digit(16) {
            Some(nibble) => nibbles.push(nibble as u8),
            None => return Err(line.error(format!("`{c}` is not a hexadecimal digit"), usage)),
        }
        line.eat(c.encode_utf8(&mut [0; 4]));
    }
    if nibbles.is_empty() {
        return Err(line.error_at(start, "the packet has no bytes", usage));
    }
    whole_bytes(line, start, nibbles.len(), usage)?;
    Ok(nibbles
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect())
}

fn pattern(line: &mut Cursor, usage: &str) -> Result<Option<Pattern>> {
    if line.at_end() {
        return Ok(None);
    }
    let start = line.place();
    let mut pattern = Pattern::default();
    while let Some(c) = line.peek() {
        match (c, c.to_digit(16)) {
            ('$', _) => {
                line.eat("$");
                line.finish("`$` marks the end of the data")?;
                pattern.ends = true;
                break;
            }
            ('*', _) => pattern.nibbles.push(None),
            (_, Some(nibble)) => pattern.nibbles.push(Some(nibble as u8)),
            _ => {
                return Err(line.error(
                    format!("`{c}` is not a hexadecimal digit, `*` or `$`"),
                    usage,
                ))
            }
        }
        line.eat(c.encode_utf8(&mut [0; 4]));
    }
    whole_bytes(line, start, pattern.nibbles.len(), usage)?;
    Ok(Some(pattern))
}

fn whole_bytes(line: &Cursor, start: Place, digits: usize, usage: &str) -> Result<()> {
    if digits % 2 == 1 {
        let message = format!("{digits} hexadecimal digits make no whole number of bytes");
        return Err(line.error_at(start, message, usage));
    }
    if digits / 2 > MAX_PACKET_BYTES {
        let message = format!("a packet has at most {MAX_PACKET_BYTES} bytes");
        return Err(line.error_at(start, message, usage));
    }
    Ok(())
}

fn add(line: &mut Cursor, usage: &str) -> Result<Add> {
    let table = line.name("a table name", usage)?;
    let priority = match line.peek() {
        Some(c) if c.is_ascii_digit() => Some(line.small("a priority", 1 << 24, usage)?),
        _ => None,
    };
    let mut keys = Vec::new();
    loop {
        let place = line.place();
        let mut field = line.name("a key field or an action", usage)?;
        if line.eat("():") {
            field.push_str("()");
        } else if !line.eat(":") {
            let action = action_named(line, place, field, usage)?;
            let label = match line.eat("=") {
                true => Some(bare_label(&line.name("a label", usage)?)),
                false => None,
            };
            return Ok(Add {
                table,
                priority,
                keys,
                action,
                label,
            });
        }
        let value = match_text(line, usage)?;
        keys.push(KeyUse {
            place,
            field: indexed(&field),
            value,
        });
        line.eat(",");
    }
}

fn match_text(line: &mut Cursor, usage: &str) -> Result<MatchText> {
    let value = line.number(usage)?;
    if line.eat("&&&") {
        return Ok(MatchText::Masked {
            value,
            mask: line.number(usage)?,
        });
    }
    if line.eat("/") {
        return Ok(MatchText::Prefix {
            value,
            length: line.small("a prefix length", 4096, usage)?,
        });
    }
    if line.eat("..") || line.eat("->") {
        return Ok(MatchText::Range {
            low: value,
            high: line.number(usage)?,
        });
    }
    Ok(MatchText::Number(value))
}

fn action(line: &mut Cursor, usage: &str) -> Result<ActionUse> {
    let place = line.place();
    let name = line.name("an action name", usage)?;
    action_named(line, place, name, usage)
}

fn action_named(line: &mut Cursor, place: Place, name: String, usage: &str) -> Result<ActionUse> {
    let mut args = Vec::new();
    line.want("(", usage)?;
    let member = match line.peek() {
        Some(c) if c.is_ascii_digit() => Some(line.small("a member", MAX_U32, usage)?),
        _ => None,
    };
    while !line.eat(")") {
        let arg = line.name("an argument name or `)`", usage)?;
        line.want(":", usage)?;
        args.push((arg, line.big(usage)?));
        line.eat(",");
    }
    Ok(ActionUse {
        place,
        name,
        args,
        member,
    })
}

/// `hdr.mpls$0.ttl` is how STF writes `hdr.mpls[0].ttl`; `h.$valid$` stays as it is.
fn indexed(field: &str) -> String {
    let mut out = String::new();
    let mut rest = field;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        let digits = after[1..].chars().take_while(char::is_ascii_digit).count();
        out.push_str(before);
        if digits > 0 {
            out.push_str(&format!("[{}]", &after[1..1 + digits]));
        } else {
            out.push('$');
        }
        rest = &after[1 + digits..];
    }
    out + rest
}

fn bare_label(label: &str) -> String {
    label.trim_start_matches('$').to_string()
}

fn unknown(word: &str) -> String {
    let names = COMMANDS.iter().chain(cli::COMMANDS).map(|(name, _)| *name);
    // A word may be as long as a script; a command is not.
    let word: String = word.chars().take(64).collect();
    let distance = |name: &str| edit_distance(name, &word);
    let near = names.clone().filter(|name| distance(name) <= 2);
    match near.min_by_key(|name| distance(name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let names: Vec<_> = names.collect();
            format!("the commands are {}", names.join(", "))
        }
    }
}
