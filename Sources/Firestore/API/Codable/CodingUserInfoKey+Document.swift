extension CodingUserInfoKey {
    /// The reference of the document that is being decoded.
    static let documentReference = CodingUserInfoKey(rawValue: "LarderDocumentReference")
}
