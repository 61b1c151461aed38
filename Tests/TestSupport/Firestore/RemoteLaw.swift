package import LarderModel
package import LarderRemote

/// Something that every remote does, whatever lies behind it.
///
/// Each law uses collections of its own, which are empty before. One that is broken throws, or
/// waits for ever.
package enum RemoteLaw: String, CaseIterable, Sendable {
    case commitsAreRead
    case versionsRise
    case commitsAreAtomic
    case preconditionsHold
    case transformsAreResolved
    case figuresAreOfWhatMatches
    case selectionsAreMade
    case collectionsAreListed
    case documentsAreListed
    case subtreesAreListed
    case mutationsAreCommittedByThemselves
    case writesAreAnsweredInOrder
    case aRefusedWriteEndsItsStream
    case aClosedWriteStreamIsSilent
    case targetsBeginWithAll
    case changesAreTold
    case targetsOfAStreamAgree
    case missingDocumentsAreTold
    case limitsHold
    case removedTargetsAreSilent
    case resumedTargetsGoOn
    case demandIsKept
    case aClosedWatchStreamIsSilent

    /// The laws of calls that the sync engine does not make.
    package static let ofDirectCalls: [RemoteLaw] = [
        .selectionsAreMade, .collectionsAreListed, .documentsAreListed, .subtreesAreListed,
        .mutationsAreCommittedByThemselves,
    ]

    /// The laws of the calls that the sync engine makes.
    package static let ofEngineCalls = allCases.filter { !ofDirectCalls.contains($0) }

    /// Tries a remote.
    ///
    /// - Parameters:
    ///   - remote: what to try.
    ///   - database: the database that it is a connection to.
    /// - Throws: ``RemoteLawBroken``, or what the remote answers where it should not fail.
    package func check(_ remote: any Remote, _ database: DatabaseID) async throws {
        let tried = RemoteUnderLaw(remote: remote, database: database, place: rawValue)
        switch self {
        case .commitsAreRead: try await tried.commitsAreRead()
        case .versionsRise: try await tried.versionsRise()
        case .commitsAreAtomic: try await tried.commitsAreAtomic()
        case .preconditionsHold: try await tried.preconditionsHold()
        case .transformsAreResolved: try await tried.transformsAreResolved()
        case .figuresAreOfWhatMatches: try await tried.figuresAreOfWhatMatches()
        case .selectionsAreMade: try await tried.selectionsAreMade()
        case .collectionsAreListed: try await tried.collectionsAreListed()
        case .documentsAreListed: try await tried.documentsAreListed()
        case .subtreesAreListed: try await tried.subtreesAreListed()
        case .mutationsAreCommittedByThemselves: try await tried.mutationsAreCommittedByThemselves()
        case .writesAreAnsweredInOrder: try await tried.writesAreAnsweredInOrder()
        case .aRefusedWriteEndsItsStream: try await tried.aRefusedWriteEndsItsStream()
        case .aClosedWriteStreamIsSilent: try await tried.aClosedWriteStreamIsSilent()
        case .targetsBeginWithAll: try await tried.targetsBeginWithAll()
        case .changesAreTold: try await tried.changesAreTold()
        case .targetsOfAStreamAgree: try await tried.targetsOfAStreamAgree()
        case .missingDocumentsAreTold: try await tried.missingDocumentsAreTold()
        case .limitsHold: try await tried.limitsHold()
        case .removedTargetsAreSilent: try await tried.removedTargetsAreSilent()
        case .resumedTargetsGoOn: try await tried.resumedTargetsGoOn()
        case .demandIsKept: try await tried.demandIsKept()
        case .aClosedWatchStreamIsSilent: try await tried.aClosedWatchStreamIsSilent()
        }
    }
}

/// What a remote did that none may do.
package struct RemoteLawBroken: Error, CustomStringConvertible {
    /// What it was.
    package let description: String
}
