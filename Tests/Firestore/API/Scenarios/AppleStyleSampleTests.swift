import AppleStyleSample
import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("An application of Apple's SDK runs with its import line changed")
struct AppleStyleSampleTests {
    @Test("A store of cities: settings, listener, batch, transaction, Codable, network, aggregates")
    @MainActor
    func cities() async throws {
        let directory = try TemporaryDirectory()
        setenv("LARDER_DIRECTORY", directory.file("larder"), 1)
        let store = CityStore()
        store.start()
        try store.seed()
        #expect(try await store.grow("SF", by: 500) == 861_500)
        #expect(try await store.capitals() == ["BJ", "TOK"])
        let tokyo = try await store.city("TOK")
        #expect(tokyo.id == "TOK" && tokyo.name == "Tokyo" && tokyo.isCapital == true)
        #expect(try await store.people() == 31_375_500)
        try await store.goOffline()
        await withCheckedContinuation { continuation in
            store.goOnline { continuation.resume() }
        }
        // Everything that was told before is on the main queue by now.
        while store.cities.first(where: { $0.id == "SF" })?.population != 861_500 {
            await withCheckedContinuation { continuation in
                DispatchQueue.main.async { continuation.resume() }
            }
        }
        #expect(store.cities.map(\.id) == ["BJ", "TOK", "SF"])
        #expect(store.additions == 3 && store.lastError == nil)
        store.stop()
        try await store.reset()
        #expect(FileManager.default.fileExists(atPath: directory.file("larder")))
    }
}

@Suite("Re-exported types")
struct ExportsTests {
    @Test("The module exports the value types")
    func values() {
        #expect(Timestamp(seconds: 1, nanoseconds: 2).seconds == 1)
        #expect(GeoPoint(latitude: 1, longitude: 2).latitude == 1)
    }
}
