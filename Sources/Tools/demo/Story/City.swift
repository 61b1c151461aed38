import Foundation

/// A city of the sample.
struct City: Codable, Equatable {
    /// Where it is, in degrees.
    struct Place: Codable, Equatable {
        var latitude: Double
        var longitude: Double
    }

    var id: String
    var name: String
    var country: String
    var population: Int
    var location: Place?
    var timezone: String?
    var alternateNames: [String]?

    /// The cities of a file, a JSON object a line.
    static func read(_ file: String) throws -> [City] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let decoder = JSONDecoder()
        return try text.split(separator: "\n").map { line in
            try decoder.decode(City.self, from: Data(line.utf8))
        }
    }
}
