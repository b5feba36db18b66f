//! The log over a simulated disk: what it promises, with crashes at every point, damage anywhere, and full disks.

#[path = "log/basics.rs"]
mod basics;
#[path = "log/crash.rs"]
mod crash;
#[path = "log/damage.rs"]
mod damage;
#[path = "log/model.rs"]
mod model;
#[path = "log/random.rs"]
mod random;
#[path = "log/retention.rs"]
mod retention;
#[path = "log/space.rs"]
mod space;
#[path = "log/threads.rs"]
mod threads;
#[path = "log/world.rs"]
mod world;
