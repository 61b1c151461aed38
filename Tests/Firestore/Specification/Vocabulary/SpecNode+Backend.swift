import Foundation
import LarderModel
import LarderRemote

/// Payloads of what the backend does.
extension SpecNode {
    func targets(_ kind: TargetChange.Kind) throws -> WatchResponse {
        .targets(TargetChange(kind, targetIDs: try targetIDs()))
    }

    func current() throws -> WatchResponse {
        let parts = try tuple(2)
        return .targets(
            TargetChange(
                .current, targetIDs: try parts[0].targetIDs(), resumeToken: try parts[1].token()))
    }

    func removal() throws -> WatchResponse {
        try object { removal in
            let cause = try removal.takeIfPresent("cause")?.status()
            return try removal.take("targetIds").targets(.removed(cause))
        }
    }

    /// Documents, each with the targets that it came into or left.
    func entities() throws -> [WatchResponse] {
        try object { entity in
            let targets = try entity.takeIfPresent("targets")?.targetIDs() ?? []
            let removed = try entity.takeIfPresent("removedTargets")?.targetIDs() ?? []
            if let key = entity.takeIfPresent("key") {
                return [.removed(try key.documentPath(), removedTargetIDs: removed)]
            }
            let documents =
                try entity.takeIfPresent("docs")?.array() ?? [try entity.take("doc")]
            return try documents.map {
                .document(
                    try SpecDocument($0).reading, targetIDs: targets, removedTargetIDs: removed)
            }
        }
    }

    func existenceFilter() throws -> WatchResponse {
        try object { filter in
            let unchanged = try filter.takeIfPresent("bloomFilter")?.bloomFilter()
            return .existenceFilter(
                targetID: try filter.take("targetIds").tuple(1)[0].integer(),
                count: try filter.take("keys").array().count, unchanged: unchanged ?? nil)
        }
    }

    /// A filter whose bitmap is not base 64 never gets through a decoder: it is none.
    private func bloomFilter() throws -> BloomFilterBits? {
        try object { filter in
            let hashCount = try filter.takeIfPresent("hashCount")?.integer(Int.self) ?? 0
            let (text, padding) =
                try filter.takeIfPresent("bits")?.object { bits in
                    (
                        try bits.takeIfPresent("bitmap")?.string() ?? "",
                        try bits.takeIfPresent("padding")?.integer(Int.self) ?? 0
                    )
                } ?? ("", 0)
            return Data(base64Encoded: text).map {
                BloomFilterBits(bitmap: [UInt8]($0), padding: padding, hashCount: hashCount)
            }
        }
    }

    func snapshot() throws -> WatchResponse {
        try object { snapshot in
            .targets(
                TargetChange(
                    .none, targetIDs: try snapshot.take("targetIds").targetIDs(),
                    resumeToken: try snapshot.takeIfPresent("resumeToken")?.token() ?? [],
                    readTime: try snapshot.take("version").version()))
        }
    }

    func watchStreamClose() throws -> SpecAction {
        try object { close in
            .closeWatchStream(
                try close.take("error").status(),
                runsBackoff: try close.take("runBackoffTimer").bool())
        }
    }

    func writeAcknowledgement() throws -> SpecAction {
        try object { answer in
            .acknowledgeWrite(
                try answer.take("version").version(),
                keepsWrite: try answer.takeIfPresent("keepInQueue")?.bool() ?? false)
        }
    }

    func writeFailure() throws -> SpecAction {
        try object { answer in
            .failWrite(
                try answer.take("error").status(),
                keepsWrite: try answer.takeIfPresent("keepInQueue")?.bool() ?? false)
        }
    }

    func targetIndex() throws -> SpecAction {
        if value != .string("latest") { _ = try integer(Int.self) }
        return .answerListen
    }
}
