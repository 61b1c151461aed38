import Larder
import Testing

@Suite("What an application sees with one import")
struct ExportsTests {
    @Test("Values come with the module")
    func values() {
        #expect(Timestamp(seconds: 1, nanoseconds: 2).seconds == 1)
        #expect(GeoPoint(latitude: 1, longitude: 2).latitude == 1)
    }
}
