//! Words for diagnostics: what to do about a mistake where the place that reports it has nothing
//! more exact to say, and grammar.

/// The usual remedy for a code.
pub(crate) fn usual(code: &str) -> Option<&'static str> {
    Some(match code {
        "E0105" => "to convert a value, write the type in parentheses: `(bit<8>) x`",
        "E0202" => "give one of the two another name, or remove it",
        "E0203" => "use a type here, such as `bit<8>` or the name of a header",
        "E0205" => "name the instance instead",
        "E0302" => "change one of the two, or convert the value with a cast",
        "E0304" => "give one type for each type parameter in its declaration",
        "E0305" => "look at the declaration of its type",
        "E0306" => "a stack of N elements has the indices 0 to N-1",
        "E0307" => "bits are counted from 0, the lowest; `x[7:0]` are the lowest eight",
        "E0308" => "make both sides the same type, with a cast if need be",
        "E0309" => "list its parts in a `struct` of their own, or use `typedef`",
        "E0310" => "use a type that the parameter can have, or another direction",
        "E0311" => "remove the default value",
        "E0312" => "connect the two where they are declared, by a constructor argument",
        "E0313" => "write `enum bit<8> name { ... }`, or leave the type out",
        "E0314" => "with an underlying type every member has a value, without one none has",
        "E0317" => "move the parameters without direction to the end",
        "E0318" => "use bit<W>, bool, headers, structs and the like",
        "E0319" => "use a width from 1 to 2048",
        "E0320" => "check the arithmetic that leads to it",
        "E0321" => "give each field of the type once",
        "E0322" => "use an index here, as in `stack[0]`",
        "E0323" => "a bool casts to bit<1> and back; compare a wider number instead: `x != 0`",
        "E0324" => "assign to a variable, a field, or an `out` or `inout` parameter",
        "E0330" => "only actions, functions and methods can be called",
        "E0331" => "write a function, or set the fields in the state itself",
        "E0332" => "give one argument for each parameter of the declaration",
        "E0333" => "check the name; headers have `isValid()`, `setValid()` and `setInvalid()`",
        "E0334" => "read in a state of a parser, and use the headers here",
        "E0335" => "call `.apply()` from the `apply` block, and use its result there",
        "E0338" => "name all arguments, each once, as the parameters are named",
        "E0339" => "give a value",
        "E0340" => "give an argument whose type is known, with a cast if need be",
        "E0341" => "to declare a variable leave the parentheses out: `type name;`",
        "E0342" => "the architecture makes such instances: take one as a parameter",
        "E0343" => "declare the instance in the control, above the action",
        "E0346" => "to leave a control use `return`, to end all processing use `exit`",
        "E0347" => "use `return` in a function, and `transition reject` in a parser",
        "E0349" => "each label stands once, and `default` last",
        "E0350" => "run over a range, as in `for (bit<8> i in 0 .. 7)`",
        "E0351" => "a function returns a value of its type, an action or `apply` block none",
        "E0356" => "give the method the parameters and the result that the extern declares",
        "E0365" => {
            "give it another name, and end the program with the package: `Switch(...) main;`"
        }
        "E0366" => "keep one of the two",
        "E0368" => "the form of this annotation is fixed by the language or by P4Runtime",
        "E0401" => "choose another name for the state",
        "E0403" => "declare the state in this parser, or go to `accept` or `reject`",
        "E0405" => "give one value, mask, range or `_` for each part of the key",
        "E0406" => "keep one of the two",
        "E0408" => "add `key = { ... }` above, or remove the entries",
        "E0409" => "match on numbers, bools and enums",
        "E0411" => "remove one of the two",
        "E0412" => "name an action that is declared above the table",
        "E0415" => "use another action here, or remove the annotation",
        "E0416" => "exchange the two",
        "E0419" => "remove one of the two",
        "E0424" => "look at the property's value",
        "E0501" => "use literals and constants",
        "E0502" => "make sure that the divisor cannot be zero",
        "E0503" => "shift by a number that is not negative",
        "E0504" => "cast the operands to bit<W>, or rewrite the sum",
        "E0506" => "change the constants that it speaks of",
        "W0404" => "let another state go there, or remove it",
        "W0419" => "remove the entry, or make its keys differ",
        "W0505" => "write a wider type, or a value that fits",
        "W0506" => "write the lower end first",
        _ => return None,
    })
}

/// `1 argument`, `2 arguments`
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
