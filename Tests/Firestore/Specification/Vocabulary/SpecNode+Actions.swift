import LarderModel
import LarderQuery
import LarderSync

/// Payloads of what a user and the machinery do.
extension SpecNode {
    /// An action whose payload says nothing.
    func only(_ action: SpecAction) throws -> SpecAction {
        try always()
        return action
    }

    func oneOf(_ names: Set<String>) throws -> String {
        let name = try string()
        guard names.contains(name) else { throw failure("unknown name '\(name)'") }
        return name
    }

    func listen() throws -> SpecAction {
        try object { listen in
            var options = ListenOptions(includeMetadataChanges: true)
            try listen.takeIfPresent("options")?.object { spec in
                options.source = try spec.takeIfPresent("source")?.listenSource() ?? .default
                options.includeMetadataChanges =
                    try spec.takeIfPresent("includeMetadataChanges")?.bool() ?? true
                // The runners that the suites were made with do not wait.
                _ = try spec.takeIfPresent("waitForSyncWhenOnline")?.bool()
            }
            return .listen(
                try listen.take("query").query(), options,
                targetID: try listen.take("targetId").integer())
        }
    }

    private func listenSource() throws -> ListenOptions.Source {
        switch try string() {
        case "default": .default
        case "cache": .cache
        default: throw failure("unknown source \(value)")
        }
    }

    func set() throws -> Mutation {
        let parts = try tuple(2)
        return Mutation(
            .set(try Record(parts[1].fields())), at: try parts[0].documentPath())
    }

    /// A patch whose keys are dotted paths.
    func patch() throws -> Mutation {
        let parts = try tuple(2)
        var record = try Record(MapValue())
        var mask: [FieldPath] = []
        for (name, value) in try parts[1].fields() {
            let path = try FieldPath(dotted: name)
            mask.append(path)
            if value == .string("<DELETE>") { continue }
            record = try record.patched(
                with: try Record(path.fields(holding: value)), mask: FieldMask([path]))
        }
        return Mutation(
            .patch(record, FieldMask(mask)), at: try parts[0].documentPath(),
            precondition: .exists(true))
    }

    /// An index configuration, given as an object or as its text.
    var jsonText: String {
        if case .string(let text) = value { text } else { value.description }
    }

    func clientState() throws -> SpecAction {
        try object { state in
            if let visibility = state.takeIfPresent("visibility") {
                return .setVisible(try visibility.oneOf(["visible", "hidden"]) == "visible")
            }
            try state.take("primary").always()
            return .becomePrimary
        }
    }

    func failingTransactions() throws -> Set<String> {
        if value == .bool(false) { return [] }
        return Set(try array().map { try $0.oneOf(SpecVocabulary.transactions) })
    }
}

extension FieldPath {
    /// A document's fields with nothing but one value at this path.
    fileprivate func fields(holding value: Value) -> MapValue {
        segments.dropLast().reversed().reduce([last: value]) { [$1: .map($0)] }
    }
}
