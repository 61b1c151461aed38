@_exported import FirebaseCore
@_exported import FirebaseDatabase
@_exported import FirebaseFirestore
