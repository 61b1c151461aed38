public import Foundation

/// Where a transaction's closure puts the error that ends it; Foundation has no such type on
/// Linux.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
