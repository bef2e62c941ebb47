// Values that are checked before they are used, for both machines. Where one makes no sense a GPU
// stops; the CPU goes on with what does no harm.
#pragma once

namespace hidet {

// The index if it is 0 to size - 1, else an error and 0.
template <typename T>
HIDET_DEVICE T checked_index(T index, long long size, const char* where) {
  if (__builtin_expect(index >= 0 && index < size, true)) return index;
  bad_index(index, size, where);
  return 0;
}

// The same of an index that counts from the end where it is negative.
template <typename T>
HIDET_DEVICE T checked_index_from_end(T index, long long size, const char* where) {
  const T position = index < 0 ? static_cast<T>(index + size) : index;
  if (__builtin_expect(position >= 0 && position < size, true)) return position;
  bad_index(index, size, where);
  return 0;
}

// The divisor unless it is 0, else an error and 1.
template <typename T>
HIDET_DEVICE T checked_divisor(T divisor, const char* where) {
  if (__builtin_expect(divisor != 0, true)) return divisor;
  zero_divisor(where);
  return 1;
}

}  // namespace hidet
