/// Whose figure it is.
enum System: String, CaseIterable {
    case larder, floor, grdb
    /// Larder's own, of what the row compares with: another operation, or the same with less.
    case reference

    var label: String {
        switch self {
        case .larder: "Larder"
        case .floor: "floor"
        case .grdb: "GRDB"
        case .reference: "reference"
        }
    }
}
