import LarderDocumentStore
import LarderModel
import LarderRemote

// The answers of a group of commits of a client as a record:
//
// commits   [{name, version, count, results}]
// results   those that are not of the commit's version alone: [{position, version, transforms}]

extension Record {
    init(answers: [String: CommitResponse]) throws(LarderError) {
        let commits = answers.sorted { $0.key < $1.key }.map { $0.value.value(named: $0.key) }
        try self.init(["commits": .array(commits)])
    }

    /// Reads the answers of a stored row.
    ///
    /// - Throws: `dataLoss` for anything else.
    static func answers(in row: NamedValue)
        throws(LarderError) -> [(name: String, response: CommitResponse)]
    {
        guard let record = try? Record(validating: row.payload, maxBytes: .max),
            case .array(let commits)? = record.fields["commits"]
        else { throw .unreadableAnswers }
        return try commits.map { commit throws(LarderError) in
            guard let answer = commit.answer else { throw .unreadableAnswers }
            return answer
        }
    }
}

extension CommitResponse {
    fileprivate func value(named name: String) -> Value {
        var differing: [Value] = []
        for (position, result) in results.enumerated() where !result.isPlain(at: commitVersion) {
            differing.append(
                .map([
                    "position": .integer(Int64(position)),
                    "version": .timestamp(result.version.timestamp),
                    "transforms": .array(result.transformResults),
                ]))
        }
        return .map([
            "name": .string(name), "version": .timestamp(commitVersion.timestamp),
            "count": .integer(Int64(results.count)), "results": .array(differing),
        ])
    }
}

extension Value {
    fileprivate var answer: (name: String, response: CommitResponse)? {
        guard case .map(let commit) = self, case .string(let name)? = commit["name"],
            case .timestamp(let time)? = commit["version"],
            case .integer(let count)? = commit["count"], (0...Self.maxCount).contains(count),
            case .array(let differing)? = commit["results"]
        else { return nil }
        let version = SnapshotVersion(time)
        var results = Array(repeating: MutationResult(version: version), count: Int(count))
        for result in differing {
            guard case .map(let fields) = result,
                case .integer(let position)? = fields["position"], (0..<count).contains(position),
                case .timestamp(let time)? = fields["version"],
                case .array(let transforms)? = fields["transforms"]
            else { return nil }
            results[Int(position)] = MutationResult(
                version: SnapshotVersion(time), transformResults: transforms)
        }
        return (name, CommitResponse(commitVersion: version, results: results))
    }

    /// More mutations than a request has.
    private static let maxCount: Int64 = 10 << 20
}

extension MutationResult {
    /// True if the result has the version of the commit and no results of transforms.
    func isPlain(at version: SnapshotVersion) -> Bool {
        self.version == version && transformResults.isEmpty
    }
}

extension LarderError {
    static let unreadableAnswers = LarderError(
        .dataLoss, "the answers of commits are malformed", condition: .corrupt)
}
