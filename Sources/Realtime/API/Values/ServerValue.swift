public import Foundation

/// Placeholders for values that the server computes when it applies a write.
///
/// They may stand anywhere in a value or as a priority. Until the server answers, the database
/// shows its own estimate.
public enum ServerValue {
    /// The time of the write at the server, in milliseconds since 1970.
    public static func timestamp() -> [AnyHashable: Any] {
        [".sv": "timestamp"]
    }

    /// The present number plus another one, or that other one alone if there is no number.
    ///
    /// Integers are added as such while the sum fits 64 bits, otherwise as doubles.
    public static func increment(_ delta: NSNumber) -> [AnyHashable: Any] {
        [".sv": ["increment": delta]]
    }
}
