//! P4_16 source text to syntax tree: source map, preprocessor, lexer, parser, diagnostics.
