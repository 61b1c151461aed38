import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// A user's overlay of a document; nil when there is none.
    ///
    /// Scans of overlays are ``DocumentSource/overlays(of:in:sinceBatch:)`` and its relatives.
    public func overlay(at path: DocumentPath, of user: UserID) throws(LarderError) -> Overlay? {
        let reader = snapshot.reader
        let result: Result<Overlay?, LarderError> = withBytes(path.string) { name in
            Result { () throws(LarderError) -> Overlay? in
                var view = larder_document()
                var payload = larder_bytes()
                let status = try call { failure in
                    withBytes(user.string) {
                        larder_overlay_get(reader, $0, name, &view, &payload, failure)
                    }
                }
                guard status == .ok else { return nil }
                let copied = payload.array
                var overlay: Overlay?
                try lend(&view, at: path) { entry throws(LarderError) in
                    overlay = Overlay(document: try entry.document(), payload: copied)
                }
                return overlay
            }
        }
        return try result.get()
    }
}
