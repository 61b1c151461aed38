package import LarderModel

extension SnapshotVersion {
    /// The version of a second since 1970.
    package static func at(_ seconds: Int64) -> SnapshotVersion {
        SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: 0))
    }
}
