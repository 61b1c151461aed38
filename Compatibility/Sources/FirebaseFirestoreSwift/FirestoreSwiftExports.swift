// Apple's SDK had its codable types here until its version 11.
@_exported import FirebaseFirestore
