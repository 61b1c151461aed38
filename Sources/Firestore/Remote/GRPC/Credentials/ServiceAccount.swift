import Foundation
import LarderModel

/// A service account's key, as the file has it that Google's console gives.
struct ServiceAccount: Sendable {
    /// The account's address.
    let email: String
    /// The key's number.
    let keyID: String
    /// The private key as PEM text; a secret.
    let privateKey: String

    private struct File: Decodable {
        var type: String?
        var client_email: String?
        var private_key_id: String?
        var private_key: String?
    }

    /// The account of a key file's bytes.
    ///
    /// - Throws: `invalidArgument` for anything else; what was read is not in the error.
    init(json: Data) throws(LarderError) {
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: json)
        } catch {
            // The decoder's error may quote the file.
            throw .invalidArgument("the key file is no JSON object with text in its fields")
        }
        guard file.type == "service_account" else {
            throw .invalidArgument("the key file is not that of a service account")
        }
        guard let email = file.client_email, let keyID = file.private_key_id,
            let privateKey = file.private_key, !email.isEmpty
        else {
            throw .invalidArgument(
                "the key file lacks 'client_email', 'private_key_id' or 'private_key'")
        }
        (self.email, self.keyID, self.privateKey) = (email, keyID, privateKey)
    }
}

extension ServiceAccount: CustomStringConvertible, CustomReflectable {
    var description: String { "ServiceAccount(\(email))" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
