public import Foundation
import LarderModel

/// An error of encoding a Firestore-specific value, matched by case or as an `NSError`.
public enum FirestoreEncodingError: Error, Hashable {
    /// A value that only `Firestore.Encoder` supports, or a property that is never encoded.
    case encodingIsNotSupported(String)
}

extension FirestoreEncodingError: CustomNSError, LocalizedError, _ObjectiveCBridgeable {
    private var message: String {
        switch self {
        case .encodingIsNotSupported(let message): message
        }
    }

    /// ``FirestoreErrorDomain``.
    public static var errorDomain: String { LarderError.firestoreDomain }

    /// The number of `invalidArgument`.
    public var errorCode: Int { LarderError.Code.invalidArgument.rawValue }

    /// The message.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }

    /// The message.
    public var errorDescription: String? { message }

    /// The error as `NSError`, so that `catch let error as NSError` works.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error with the text of an `NSError`.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout Self?) {
        result = _unconditionallyBridgeFromObjectiveC(source)
    }

    /// No `NSError` is an error of a coder.
    ///
    /// - Returns: false.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout Self?
    ) -> Bool { false }

    /// The error with the text of an `NSError`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> Self {
        .encodingIsNotSupported(source?.localizedDescription ?? "")
    }
}

/// An error of decoding a Firestore-specific value, matched by case or as an `NSError`.
public enum FirestoreDecodingError: Error, Hashable {
    /// A value that only `Firestore.Decoder` with a document supports.
    case decodingIsNotSupported(String)

    /// A field with the name of a property that is not part of the data.
    ///
    /// Exists for source compatibility: such fields are ignored, and this error is never thrown.
    case fieldNameConflict(String)
}

extension FirestoreDecodingError: CustomNSError, LocalizedError, _ObjectiveCBridgeable {
    private var message: String {
        switch self {
        case .decodingIsNotSupported(let message), .fieldNameConflict(let message): message
        }
    }

    /// ``FirestoreErrorDomain``.
    public static var errorDomain: String { LarderError.firestoreDomain }

    /// The number of `invalidArgument`.
    public var errorCode: Int { LarderError.Code.invalidArgument.rawValue }

    /// The message.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }

    /// The message.
    public var errorDescription: String? { message }

    /// The error as `NSError`, so that `catch let error as NSError` works.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error with the text of an `NSError`.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout Self?) {
        result = _unconditionallyBridgeFromObjectiveC(source)
    }

    /// No `NSError` is an error of a coder.
    ///
    /// - Returns: false.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout Self?
    ) -> Bool { false }

    /// The error with the text of an `NSError`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> Self {
        .decodingIsNotSupported(source?.localizedDescription ?? "")
    }
}
