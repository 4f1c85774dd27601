package client

// Version is the version of this module, and what clients call themselves
// unless [WithClientInfo] says otherwise.
const Version = "0.1.0"
