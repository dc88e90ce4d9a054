//! Reading scripts: a typo must be named where it stands, and nothing may go unread in silence.

use p4_stf::*;
use proptest::prelude::*;

fn first_error(text: &str) -> String {
    let script = parse("t.stf", text);
    script.render_error(script.errors.first().expect("an error"))
}

fn only_command(text: &str) -> Command {
    let script = parse("t.stf", text);
    assert_eq!(script.errors, []);
    script.commands[0].1.clone()
}

/// Without place and remedy a student searches a hundred lines of hex for a missing digit.
#[test]
fn errors_have_a_place_and_a_remedy() {
    let cases = [
        ("\npakcet 1 00", "t.stf:2:1: unknown command `pakcet`; did you mean `packet`?"),
        ("packet 1 0g", "t.stf:1:11: `g` is not a hexadecimal digit; write: packet PORT HEXBYTES"),
        (
            "packet 1 abc",
            "t.stf:1:10: 3 hexadecimal digits make no whole number of bytes; write: packet PORT HEXBYTES",
        ),
        ("packet 512 ab", "t.stf:1:8: a port must be 0 to 511; write: packet PORT HEXBYTES"),
        ("packet", "t.stf:1:7: expected a number, but the line ends; write: packet PORT HEXBYTES"),
        ("wait 5", "t.stf:1:6: nothing may follow here, but `5` does; write: wait"),
        (
            "register_write r 0x1* 2",
            "t.stf:1:18: an index must be 0 to 4294967295; write: register_write REGISTER INDEX VALUE",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(first_error(text), message);
    }
}

/// One bad line must not hide another.
#[test]
fn every_bad_line_is_reported() {
    let script = parse("t.stf", "packet 1 0\nexpect 1 zz\npacket 1 00\nfoo\n");
    let lines: Vec<u32> = script.errors.iter().map(|error| error.place.line).collect();
    assert_eq!((lines, script.commands.len()), (vec![1, 2, 4], 1));
}

#[test]
fn packets_and_expectations() {
    let data = vec![0xab, 0xcd, 0xef];
    assert_eq!(
        only_command(" packet 1 ab CD ef # comment"),
        Command::Packet { port: 1, data }
    );
    let nibbles = vec![Some(0), None, None, Some(0xf)];
    let pattern = Some(Pattern {
        nibbles,
        ends: true,
    });
    assert_eq!(
        only_command("expect 0x3 0**f $"),
        Command::Expect { port: 3, pattern }
    );
    assert_eq!(
        only_command("expect 3"),
        Command::Expect {
            port: 3,
            pattern: None
        }
    );
    assert_eq!(only_command("no_packet"), Command::NoPacket { port: None });
}

#[test]
fn an_entry_with_everything() {
    let Command::Add(add) = only_command(
        "add I.t 5 h.m$1.ttl:0x1*, h.x.isValid():1 h.b:10&&&0xf h.c:3/2 h.d:1..2 I.act(p:0x5, q:6) = $e",
    ) else {
        panic!("not an add")
    };
    let fields: Vec<_> = add.keys.iter().map(|key| key.field.as_str()).collect();
    assert_eq!(fields, ["h.m[1].ttl", "h.x.isValid()", "h.b", "h.c", "h.d"]);
    assert_eq!(
        (add.table.as_str(), add.priority, add.label.as_deref()),
        ("I.t", Some(5), Some("e"))
    );
    assert_eq!(
        add.action.args,
        [("p".to_string(), 5u8.into()), ("q".to_string(), 6u8.into())]
    );
    assert_eq!(
        add.action.place,
        Place {
            line: 1,
            column: 73
        }
    );
    let MatchText::Number(number) = &add.keys[0].value else {
        panic!("not a number")
    };
    assert_eq!(
        (&number.value, number.written.as_ref()),
        (&0x10u8.into(), Some(&0xf0u8.into()))
    );
    assert_eq!((number.digit_bits, number.trailing_wild_bits), (8, 4));
}

/// The tests that ship with the labs and those recorded from real switches are in this language.
#[test]
fn known_scripts_are_read() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut pending: Vec<std::path::PathBuf> = [
        format!("{root}/p4"),
        format!("{root}/tests/recorded/v1model"),
    ]
    .map(Into::into)
    .into();
    for folder in &pending {
        assert!(folder.is_dir(), "{} is missing", folder.display());
    }
    let mut read = 0;
    while let Some(path) = pending.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            pending.extend(entries.flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "stf") {
            let script = parse(
                &path.to_string_lossy(),
                &std::fs::read_to_string(&path).unwrap(),
            );
            let errors: Vec<_> = script
                .errors
                .iter()
                .map(|e| script.render_error(e))
                .collect();
            assert_eq!(errors, Vec::<String>::new());
            assert!(
                !script.commands.is_empty(),
                "{} says nothing",
                path.display()
            );
            read += 1;
        }
    }
    assert!(read > 0, "no script found");
}

proptest! {
    /// A student's file must never end the program that reads it.
    #[test]
    fn reading_never_panics(text in "(?s)(packet|expect|add|mc_node_create|check_counter)? ?[ -~\n\u{e9}]{0,80}") {
        let script = parse("t.stf", &text);
        for error in &script.errors {
            prop_assert!(error.place.line >= 1 && !error.message.is_empty() && !error.remedy.is_empty());
        }
    }

    /// Every line that is not a comment and not empty is either a command or an error.
    #[test]
    fn no_line_is_lost(lines in prop::collection::vec("(packet 1 00|wait|# x| |expect|boo|add t a\\(\\))", 0..20)) {
        let script = parse("t.stf", &lines.join("\n"));
        let meant = lines.iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        prop_assert_eq!(script.commands.len() + script.errors.len(), meant.count());
    }
}

/// p4testgen writes names in quotes: they may hold what ends a name elsewhere.
#[test]
fn names_in_quotes_may_hold_anything() {
    let text = r##"add "My #1 ツ" 3 "hdr.a & 0xf":0x1 hdr.b:2 "an action"("x y":1) = "one" # "c"##;
    let Command::Add(add) = only_command(text) else {
        panic!("{text} adds an entry");
    };
    let keys: Vec<&str> = add.keys.iter().map(|key| key.field.as_str()).collect();
    assert_eq!(keys, ["hdr.a & 0xf", "hdr.b"]);
    assert_eq!((add.table.as_str(), add.priority), ("My #1 ツ", Some(3)));
    assert_eq!(
        (add.action.name.as_str(), &*add.action.args[0].0),
        ("an action", "x y")
    );
    assert_eq!(add.label.as_deref(), Some("one"));
    assert_eq!(
        first_error("setdefault \"t a()"),
        "t.stf:1:12: this quote has no end; write: setdefault TABLE ACTION(ARG:VALUE, ...)"
    );
}
