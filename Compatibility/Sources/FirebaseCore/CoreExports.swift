// Apple's module imports Foundation for its clients.
@_exported import Foundation

@_exported import class Larder.FirebaseApp
@_exported import class Larder.FirebaseConfiguration
@_exported import enum Larder.FirebaseLoggerLevel
@_exported import class Larder.FirebaseOptions
@_exported import func Larder.FirebaseVersion
@_exported import struct Larder.Timestamp

extension Timestamp {
    /// The timestamp itself: a value, where Apple's SDK has an object.
    public func copy() -> Any { self }
}
