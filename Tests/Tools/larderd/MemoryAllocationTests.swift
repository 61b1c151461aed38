#if canImport(Glibc)
    import Foundation
    import Testing

    @testable import LarderDaemon

    @Suite("larderd: the allocator")
    struct MemoryAllocationTests {
        /// True if a block of a size has a map of its own, which glibc notes in the word before the
        /// block.
        private static func isMapped(_ bytes: Int) throws -> Bool {
            let block = try #require(malloc(bytes))
            defer { free(block) }
            return (block - MemoryLayout<UInt>.size).load(as: UInt.self) & 2 != 0
        }

        /// In a process of its own: heaps of this one may have room for such blocks, which other
        /// tests released, and its settings would stay.
        @Test("large blocks stay maps of their own, however large the blocks released before them")
        func largeBlocks() async {
            await #expect(processExitsWith: .success) {
                // Sanitizers have another allocator.
                guard try Self.isMapped(64 << 20), MemoryAllocation.configure() else { return }
                // By default this raises the size of such blocks; heaps have no free room for the
                // next.
                #expect(try Self.isMapped(31 << 20))
                #expect(try Self.isMapped(20 << 20))
                #expect(try !Self.isMapped(100_000))
            }
        }
    }
#endif
