import Foundation
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The bloom filters of Firestore's specification tests")
struct BloomFilterSpecTests {
    /// The suite with filters, below what `LARDER_SPEC_DIR` names or beside the package; nil when
    /// it is not there.
    private static let suite: URL? = {
        let file = PackageDirectory.specifications
            .appending(path: "firestore/existence_filter_spec_test.json")
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }()

    private struct Step: Decodable {
        struct Filter: Decodable {
            struct Bloom: Decodable {
                struct Bits: Decodable {
                    var bitmap: String
                    var padding: Int?
                }
                var bits: Bits
                var hashCount: Int?
            }
            var bloomFilter: Bloom?
            var keys: [String]
        }
        struct State: Decodable {
            var activeLimboDocs: [String]?
        }
        var watchFilter: Filter?
        var expectedState: State?
    }

    private struct Timeline: Decodable {
        var steps: [Step]
    }

    @Test(
        "Contain the documents that they are of, and not those that are in limbo after them",
        .enabled(if: suite != nil, "LARDER_SPEC_DIR names no directory of specification tests"))
    func filters() throws {
        let file = try #require(Self.suite)
        let timelines = try JSONDecoder().decode(
            [String: Timeline].self, from: Data(contentsOf: file))
        var limboCount = 0
        for (name, timeline) in timelines {
            for (position, step) in timeline.steps.enumerated() {
                guard let sent = step.watchFilter, let filter = sent.bloomFilter.flatMap(filter)
                else { continue }
                for key in sent.keys { #expect(contains(filter, key), "\(name)") }
                let limbo =
                    timeline.steps[position...].lazy
                    .compactMap { $0.expectedState?.activeLimboDocs }.first ?? []
                for key in limbo { #expect(!contains(filter, key), "\(name)") }
                limboCount += limbo.count
            }
        }
        #expect(limboCount > 0)
    }

    private func filter(_ bloom: Step.Filter.Bloom) -> BloomFilter? {
        guard let bitmap = Data(base64Encoded: bloom.bits.bitmap) else { return nil }
        let bits = BloomFilterBits(
            bitmap: Array(bitmap), padding: bloom.bits.padding ?? 0,
            hashCount: bloom.hashCount ?? 0)
        guard let filter = try? BloomFilter(bits), !filter.isEmpty else { return nil }
        return filter
    }

    private func contains(_ filter: BloomFilter, _ key: String) -> Bool {
        filter.contains("projects/test-project/databases/(default)/documents/\(key)")
    }
}
