import CLarder

package enum LarderVersion {
    /// The version as text, such as `0.2.0`.
    package static let text = String(cString: larder_version())
}
