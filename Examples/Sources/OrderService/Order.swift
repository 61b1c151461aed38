import Hummingbird

/// An order as clients of the service see it.
struct Order: ResponseEncodable, Sendable {
    var id: String
    var item: String
    var count: Int
    var isServed: Bool
    /// Whether the order has a change that the server does not have yet.
    var isPending: Bool
}

/// The body of a request for an order.
struct OrderRequest: Decodable {
    var item: String
    var count: Int
}
