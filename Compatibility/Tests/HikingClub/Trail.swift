import FirebaseFirestore

/// The surface of a trail.
package enum Surface: String, Codable {
    case gravel, rock, forest
}

/// A trail of the club.
package struct Trail: Codable, Hashable, Identifiable {
    @DocumentID package var id: String?
    package var name: String
    package var region: String
    package var lengthInMeters: Int
    package var surface: Surface
    package var start: GeoPoint
    package var tags: [String]
    package var ratingCount: Int
    package var averageRating: Double
    @ExplicitNull package var guide: String?
    @ServerTimestamp package var updatedAt: Timestamp?

    package init(
        name: String, region: String, lengthInMeters: Int, surface: Surface, start: GeoPoint,
        tags: [String] = []
    ) {
        self.name = name
        self.region = region
        self.lengthInMeters = lengthInMeters
        self.surface = surface
        self.start = start
        self.tags = tags
        ratingCount = 0
        averageRating = 0
    }
}

/// What a hiker says about a trail.
package struct Review: Codable, Equatable {
    package var author: String
    package var rating: Int
    package var text: String
    package var writtenAt: Date

    package init(author: String, rating: Int, text: String, writtenAt: Date) {
        self.author = author
        self.rating = rating
        self.text = text
        self.writtenAt = writtenAt
    }
}
