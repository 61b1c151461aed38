/// One test of a suite: what a user and a backend do, step by step.
struct SpecTest: Sendable {
    /// What a test needs, or where it does not hold.
    enum Tag: String, Sendable, Hashable {
        case multiClient = "multi-client"
        /// Needs a store that a restart leaves alone.
        case durablePersistence = "durable-persistence"
        /// Needs documents to go as soon as nothing needs them.
        case eagerCollection = "eager-gc"
        case exclusive
        case benchmark
        /// Of other runners.
        case noIOS = "no-ios"
        case noAndroid = "no-android"
        case noWeb = "no-web"
        case noPipelineConversion = "no-pipeline-conversion"
    }

    /// How the client is set up.
    struct Configuration: Sendable {
        var clientCount: Int
        var collectsEagerly: Bool
        /// Nil for any number.
        var maxConcurrentLimboResolutions: Int?
        /// Whether the backend may end targets that it does not watch.
        var allowsRemovalOfUnlisted: Bool
    }

    /// The suite's name and the test's.
    let name: String
    let tags: Set<Tag>
    let configuration: Configuration
    let steps: [SpecStep]

    init(_ node: SpecNode) throws {
        self = try node.object { test in
            _ = try test.takeIfPresent("comment")?.string()
            return SpecTest(
                name: try test.take("describeName").string() + " "
                    + test.take("itName").string(),
                tags: Set(try test.take("tags").array().map { try $0.tag() }),
                configuration: try test.take("config").configuration(),
                steps: try test.take("steps").array().map { try SpecStep($0) })
        }
    }

    private init(
        name: String, tags: Set<Tag>, configuration: Configuration, steps: [SpecStep]
    ) {
        self.name = name
        self.tags = tags
        self.configuration = configuration
        self.steps = steps
    }
}

/// An action of one client and what it must lead to.
struct SpecStep: Sendable {
    /// Which client acts, and is looked at.
    let client: Int
    let action: SpecAction
    let expectations: SpecExpectations
    /// The step as it was written.
    let json: JSONValue

    init(_ node: SpecNode) throws {
        json = node.value
        (client, expectations, action) = try node.object { step in
            (
                try step.takeIfPresent("clientIndex")?.integer() ?? 0,
                try SpecExpectations(from: &step), try SpecAction(from: &step)
            )
        }
    }
}

extension SpecNode {
    fileprivate func tag() throws -> SpecTest.Tag {
        guard let tag = SpecTest.Tag(rawValue: try string()) else {
            throw failure("unknown tag \(value)")
        }
        return tag
    }

    fileprivate func configuration() throws -> SpecTest.Configuration {
        try object { configuration in
            // The conversion is a second run of the same tests in other runners.
            _ = try configuration.takeIfPresent("convertToPipeline")?.bool()
            return SpecTest.Configuration(
                clientCount: try configuration.take("numClients").integer(),
                collectsEagerly: try configuration.take("useEagerGCForMemory").bool(),
                maxConcurrentLimboResolutions:
                    try configuration.takeIfPresent("maxConcurrentLimboResolutions")?.integer(),
                allowsRemovalOfUnlisted:
                    try configuration.takeIfPresent("allowUnlistedTargetRemoval")?.bool() ?? false)
        }
    }
}
