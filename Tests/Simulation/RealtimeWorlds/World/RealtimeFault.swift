import SimulationSupport

/// Faults and rare events, each of which must occur in every long run of worlds.
package enum RealtimeFault: String, WorldFault {
    // Connections.
    case refused = "a connection is refused"
    case requestLost = "a connection breaks before a request arrives"
    case answerLost = "a connection breaks after a request has arrived"
    case acknowledgementLost = "a connection breaks before an answer arrives"
    case pushLost = "a connection breaks before a push arrives"
    case silence = "a network loses everything for a while"
    case longSilence = "a network loses everything until connections are given up"
    case goneOffline = "an application goes offline"
    // Servers.
    case connectionsDropped = "the server drops all connections"
    case serverRestarted = "the server is closed and opened again"
    case namesLost = "the server loses the names of writes"
    case storageFailure = "the server's storage refuses a commit"
    case takeover = "a connection ends the client's earlier session"
    case tokenExpired = "a token expires"
    case tokenUnavailable = "a token cannot be fetched"
    case userChanged = "a user signs in or out"
    case writeDenied = "the rules deny a write"
    case listenRevoked = "a listen is refused or revoked"
    case staleTransaction = "the data of a transaction is stale"
    case disconnectWrites = "the end of a session writes"
    case rangeMerge = "a server sends ranges"
    // Clients.
    case crash = "a client ends between two steps"
    case crashAtWork = "a client ends while work waits"
    case restart = "a client is closed and opened again"
    case diskFailure = "a disk refuses a commit"
    case writeUncommitted = "a write is not made because the disk refuses it"
    case sentAgain = "a write is sent again"
    case answeredAgain = "a write that was made is answered again"
    case writeCancelled = "a pending write is cancelled"
    case purged = "all pending writes are cancelled"
    case merged = "a write is replaced by a later one before it is sent"
    case transactionCommitted = "a transaction is committed"
    case transactionLost = "a transaction ends with its connection"
    case transactionAnsweredAgain = "a transaction that was made is answered again"
    case transactionOverridden = "a transaction is overridden"
    case transactionResumed = "a transaction of an earlier run is run again"
    case armed = "an operation is left for the end of a session"
    case evicted = "data is evicted"
    case cachedAnswer = "a read is answered from the cache"
    case viewCompared = "a view is found in the history of the server"
}

/// The journal of a world.
typealias Journal = SimulationSupport.Journal<RealtimeFault>
