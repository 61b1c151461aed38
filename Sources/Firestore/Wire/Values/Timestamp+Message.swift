package import LarderModel
package import SwiftProtobuf

extension Timestamp {
    /// The instant of a message, to the nanosecond.
    ///
    /// - Throws: `invalidArgument` outside the years 0001 to 9999 or 0...999,999,999 nanoseconds.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        try self.init(validatingSeconds: message.seconds, nanoseconds: message.nanos)
    }
}

extension Google_Protobuf_Timestamp {
    /// The message of an instant.
    package init(_ time: Timestamp) {
        self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }

    /// The message of a version.
    package init(_ version: SnapshotVersion) {
        self.init(version.timestamp)
    }
}

extension SnapshotVersion {
    /// The version of a message; ``LarderModel/SnapshotVersion/none`` for the epoch, too.
    ///
    /// - Throws: as ``LarderModel/Timestamp/init(_:)``.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        self.init(try Timestamp(message))
    }
}
