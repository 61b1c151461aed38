import SimulationSupport

/// Faults and rare events of a world, each of which must occur in every long run of worlds.
package enum Fault: String, WorldFault {
    // Streams.
    case streamRefused = "a stream is refused"
    case streamSilent = "a stream is opened and not answered"
    case requestLost = "a stream breaks before a request arrives"
    case answerLost = "a stream breaks after a request has arrived"
    case acknowledgementLost = "a stream breaks between a commit and its acknowledgement"
    case snapshotLost = "a stream breaks amid the changes of a snapshot"
    case streamEnded = "a stream ends in good order"
    case tokenRefused = "a stream breaks because the credentials have expired"
    case exhausted = "a stream breaks because a quota is exhausted"
    case lateEvent = "an event arrives of a stream that was closed"
    case overtaken = "a message overtakes one of another stream"
    // Networks.
    case refusing = "a network refuses connections"
    case silence = "a network loses everything for a while"
    case longSilence = "a network loses everything until connections are given up"
    case networkDisabled = "an application disables the network"
    // Backends.
    case tokenExpired = "a backend no longer takes a resume token"
    case backendRestarted = "a backend is closed and opened again"
    case deletesForgotten = "a backend forgets deletes"
    case existenceFilter = "a backend counts the documents of a target"
    case targetReset = "a backend sends a target again"
    case writeDenied = "rules deny a write"
    case writeRefused = "a precondition refuses a write"
    case targetDenied = "rules deny a target"
    case limboDenied = "rules deny a document in limbo"
    case limbo = "a backend is asked for a document in limbo"
    case answeredAgain = "a write that was committed is answered again"
    case committedTwice = "a write is committed twice"
    // Clients.
    case crash = "a client ends between two steps"
    case crashAtWork = "a client ends while work waits"
    case commitLost = "a client ends and loses its last commit"
    case restart = "a client is terminated and opened again"
    case diskFailure = "a disk refuses an operation"
    case diskRecovered = "a disk works again"
    case userChanged = "a user changes"
    case evicted = "documents are evicted by hand"
    case collected = "garbage is collected"
    case writeCancelled = "a pending write is cancelled"
    case cancelRefused = "a write is cancelled too late"
    case deadLetter = "a write becomes a dead letter"
}

/// The journal of a world.
typealias Journal = SimulationSupport.Journal<Fault>

/// The count of each fault.
typealias FaultCounts = SimulationSupport.FaultCounts<Fault>
