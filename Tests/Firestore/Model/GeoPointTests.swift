import LarderModel
import Testing

@Suite("Geo points")
struct GeoPointTests {
    @Test("1.1: a latitude lies in -90...90, a longitude in -180...180, both are finite")
    func ranges() throws {
        #expect(try GeoPoint(validatingLatitude: 90, longitude: -180).latitude == 90)
        for (latitude, longitude) in [
            (90.1, 0.0), (-90.1, 0), (0, 180.1), (0, -180.1), (.nan, 0), (0, .infinity),
        ] {
            #expect(throws: LarderError.self) {
                try GeoPoint(validatingLatitude: latitude, longitude: longitude)
            }
        }
    }
}
