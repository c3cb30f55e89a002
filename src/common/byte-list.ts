/** The bytes of the first block. */
const firstBlock = 16 * 1024

/** Creating a buffer takes a microsecond, and most bodies are a single piece. */
const empty = Buffer.alloc(0)

/**
 * Bytes that arrive in pieces. They are copied into one block that grows, because an object for each piece
 * takes 200 bytes, even if the piece has a single one.
 */
export class ByteList {
  /** The number of bytes. */
  length = 0
  private block: Buffer = empty

  /** The bytes of memory that the list takes. */
  get capacity(): number {
    return this.block.length
  }

  /** Appends a piece. A single piece isn't copied. */
  add(piece: Buffer): void {
    const length = this.length + piece.length
    if (this.length === 0) this.block = piece
    else {
      if (length > this.block.length) this.grow(length)
      this.block.set(piece, this.length)
    }
    this.length = length
  }

  /** Returns all bytes, and removes them from the list. */
  take(): Buffer {
    const { block, length } = this
    this.block = empty
    this.length = 0
    return length === block.length ? block : block.subarray(0, length)
  }

  private grow(length: number): void {
    const grown = Buffer.allocUnsafe(Math.max(firstBlock, Math.ceil(length * 1.5)))
    grown.set(this.block.subarray(0, this.length))
    this.block = grown
  }
}
