package client

// Version is the version of this module. Clients report it to servers unless
// [WithClientInfo] sets another.
const Version = "0.1.0"
