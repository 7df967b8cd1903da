//! Policy compliance roll-up and policy parameters (spec/02 sections 8.4 and 11).
