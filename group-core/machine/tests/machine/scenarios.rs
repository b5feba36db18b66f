//! Named cases: what a reader of SPEC section 3 expects, one by one.

mod dispatch;
mod limits;
mod members;
mod publishing;
mod settlement;
mod strategies;
mod time;
