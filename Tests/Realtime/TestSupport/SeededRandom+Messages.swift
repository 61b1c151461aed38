import LarderRealtimeModel
package import LarderRealtimeRemote
package import LarderSharedTestSupport

extension SeededRandom {
    /// A request of any kind.
    package mutating func request() -> RealtimeRequest {
        switch below(12) {
        case 0: return .authenticate(token: pick(["owner", "eyJ.eyJ.x", ""]))
        case 1: return .unauthenticate
        case 2:
            let query = querySpec()
            return .listen(
                query, tag: query.loadsAllData ? nil : below(1000), hash: pick(["", "h"]),
                compoundHash: oneIn(2) ? CompoundHash(node()) : nil)
        case 3:
            let query = querySpec()
            return .unlisten(query, tag: query.loadsAllData ? nil : below(1000))
        case 4: return .get(querySpec())
        case 5: return .put(path(), node(), hash: pick([nil, "", "hash"]))
        case 6: return .merge(path(), updateValues())
        case 7: return .onDisconnectPut(path(), node())
        case 8: return .onDisconnectMerge(path(), updateValues())
        case 9: return .onDisconnectCancel(path())
        case 10:
            let write =
                oneIn(2)
                ? RealtimeRequest.put(path(), node(), hash: pick([nil, "hash"]))
                : .merge(path(), updateValues())
            return .once(
                WriteToken(client: "c\(below(9))", write: "7-1", answered: pick([[], ["6-1"]])),
                write)
        default: return .statistics(["a": below(9), "é": 0])
        }
    }

    /// A push of any kind.
    package mutating func push() -> RealtimePush {
        let tag = oneIn(2) ? below(1000) : nil
        switch below(6) {
        case 0: return .overwrite(path(), node(), tag: tag)
        case 1: return .merge(path(), pathValues(), tag: tag)
        case 2:
            let merges = (0..<below(4)).map { _ in
                RangeMerge(
                    after: oneIn(3) ? nil : path(), through: oneIn(3) ? nil : path(), node())
            }
            return .rangeMerge(path(), merges, tag: tag)
        case 3: return .listenRevoked(path(), oneIn(2) ? nil : query())
        case 4:
            return .authenticationRevoked(pick([.expiredToken, .invalidToken]), reason: "why \"?")
        default: return .securityDebug("line\nline")
        }
    }

    private mutating func querySpec() -> QuerySpec { QuerySpec(path(), query()) }

    /// Nodes at paths of which none contains another.
    private mutating func pathValues() -> [PathValue] {
        var values: [PathValue] = []
        for _ in 0..<below(5) {
            let candidate = values + [PathValue(path(), node())]
            if (try? candidate.checkDisjoint()) != nil { values = candidate }
        }
        return values
    }

    /// The nodes of a request: none of the location itself.
    private mutating func updateValues() -> [PathValue] {
        pathValues().filter { !$0.path.isEmpty }
    }

    /// Bytes with a few changed, removed, repeated or added.
    package mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...below(3) where !bytes.isEmpty {
            let place = below(bytes.count)
            switch below(5) {
            case 0: bytes[place] = UInt8(below(256))
            case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1 + below(8)))
            case 2:
                bytes.insert(contentsOf: bytes[place...].prefix(below(40)), at: below(place + 1))
            case 3: bytes[place] = pick(Array("{}[]\":,0-.\\eu".utf8))
            default: bytes.removeLast(bytes.count - place)
            }
        }
        return bytes
    }
}
