//! The frame in which every controller of the manager runs (DESIGN section 4).
//!
//! ```text
//! watcher per kind --> Store (cache + our own writes) --> routes --> one Queue per area
//!                                                                       |
//!                       leader only: drain: observe -> decide -> act <--'
//! ```

pub(crate) mod act;
pub(crate) mod clock;
pub(crate) mod context;
pub(crate) mod drain;
pub(crate) mod key;
pub(crate) mod memo;
pub(crate) mod queue;
pub(crate) mod routes;
mod secret;
pub(crate) mod settle;
pub(crate) mod store;
pub(crate) mod watch;
pub(crate) mod world;
