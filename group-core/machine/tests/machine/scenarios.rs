//! Named cases: what a reader of SPEC section 3 expects, one by one.

mod configure;
mod dead_letters;
mod dispatch;
mod group_sets;
mod limits;
mod losses;
mod members;
mod publishing;
mod settlement;
mod strategies;
mod time;
mod very_many;
