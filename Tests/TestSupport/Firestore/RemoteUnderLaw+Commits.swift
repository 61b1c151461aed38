import LarderModel
import LarderQuery
import LarderRemote

/// Laws of commits, reads and figures.
extension RemoteUnderLaw {
    func commitsAreRead() async throws {
        let response = try await commit(set("x", 1), set("y", 2))
        let readings = try await read("y", "none", "x")
        try require(readings.map(\.path.id) == ["y", "none", "x"], "the order of \(readings)")
        try require(readings.map { $0.fields?["n"] } == [2, nil, 1], "the fields of \(readings)")
        try require(
            response.results.map(\.version) == [response.commitVersion, response.commitVersion]
                && readings[0].version == response.commitVersion
                && readings[2].version == response.commitVersion, "versions: \(response)")
        try require(readings[1].version >= response.commitVersion, "absent at \(readings[1])")
    }

    func versionsRise() async throws {
        var last = SnapshotVersion.none
        for number in 0..<10 {
            let version = try await commit(set("x", Int64(number))).commitVersion
            try require(version > last, "\(version) after \(last)")
            last = version
        }
    }

    func commitsAreAtomic() async throws {
        let refusal = try await refusal(set("x", 1), patch("none", ["n": 1], .exists(true)))
        try require(refusal == .notFound, "\(refusal as Any)")
        try require(try await !read("x")[0].exists, "a part of a refused commit was made")
    }

    func preconditionsHold() async throws {
        let version = try await commit(set("x", 1)).commitVersion
        let old = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
        let refusals = [
            try await refusal(set("x", 2, .exists(false))),
            try await refusal(patch("none", ["n": 2], .exists(true))),
            try await refusal(delete("none", .exists(true))),
            try await refusal(set("x", 2, .updateTime(old))),
            try await refusal(Mutation(.verify, at: path("x"), precondition: .updateTime(old))),
            try await refusal(Mutation(.verify, at: path("x"), precondition: .updateTime(version))),
            try await refusal(patch("x", ["n": 3], .updateTime(version))),
            try await refusal(delete("x", .exists(true))),
            try await refusal(set("x", 4, .exists(false))),
        ]
        try require(
            refusals == [
                .alreadyExists, .notFound, .notFound, .failedPrecondition, .failedPrecondition, nil,
                nil, nil, nil,
            ], "\(refusals)")
    }

    func transformsAreResolved() async throws {
        try await commit(set("x", 40))
        let response = try await commit(
            patch(
                "x", [:],
                transforms: [
                    FieldTransform(FieldPath("n"), .increment(2)),
                    FieldTransform(FieldPath("t"), .serverTimestamp),
                    FieldTransform(FieldPath("l"), .arrayUnion([1, 2, 1])),
                ]))
        let fields = try await read("x")[0].fields
        // The time is that of the request, which is the commit's or before it.
        guard case .timestamp(let moment)? = fields?["t"],
            moment <= response.commitVersion.timestamp
        else { throw RemoteLawBroken(description: "\(place): the time in \(fields as Any)") }
        let time = Value.timestamp(moment)
        try require(fields == ["n": 42, "t": time, "l": [1, 2]], "\(fields as Any)")
        let results = response.results[0].transformResults
        try require(results.count == 3 && Array(results.prefix(2)) == [42, time], "\(results)")
    }

    func figuresAreOfWhatMatches() async throws {
        try await commit(set("x", 1), set("y", 2), set("z", 4), set("w", 8, in: "b"))
        let field = try FieldPath("n")
        let values = try await aggregate(
            [.average(field), .count, .sum(field)], over: query(from: 2))
        try require(values == [3.0, 2, 6], "\(values)")
    }
}
