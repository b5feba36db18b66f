//! Named cases: what a reader of SPEC section 3 expects, one by one.
