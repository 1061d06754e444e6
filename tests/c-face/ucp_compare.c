// What a program sees of libucp: statuses, lengths, tags, order and data, printed a line each. Built once against UCX's
// headers and run with either library; the lines must be the same (compare.py).
//
// Two processes, parent and child, exchange their worker's addresses over pipes. The parent prints; the child does the
// other half of each step.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;
static int to_peer, from_peer, is_parent;

static void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
  exit(3);
}

static void send_blob(const void* bytes, size_t size) {
  if (write(to_peer, &size, sizeof(size)) != sizeof(size) || write(to_peer, bytes, size) != (ssize_t)size) exit(4);
}

static void* receive_blob(size_t* size) {
  size_t got = 0;
  if (read(from_peer, size, sizeof(*size)) != sizeof(*size)) exit(4);
  char* bytes = malloc(*size);
  while (got < *size) {
    ssize_t part = read(from_peer, bytes + got, *size - got);
    if (part <= 0) exit(4);
    got += (size_t)part;
  }
  return bytes;
}

// Both are here; while one waits, it makes progress for the other.
static void meet(void) {
  char none = 1;
  fd_set set;
  struct timeval at_once = {0, 0};
  send_blob(&none, 1);
  for (;;) {
    ucp_worker_progress(worker);
    FD_ZERO(&set);
    FD_SET(from_peer, &set);
    at_once.tv_usec = 0;
    if (select(from_peer + 1, &set, NULL, NULL, &at_once) > 0) break;
  }
  size_t size;
  free(receive_blob(&size));
}

static ucs_status_t finish(ucs_status_ptr_t request, ucp_tag_recv_info_t* info) {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request);
  ucs_status_t status;
  do {
    ucp_worker_progress(worker);
    status = info != NULL ? ucp_tag_recv_request_test(request, info) : ucp_request_check_status(request);
  } while (status == UCS_INPROGRESS);
  ucp_request_free(request);
  return status;
}

static unsigned sum(const void* bytes, size_t size) {
  unsigned value = 17;
  for (size_t i = 0; i < size; ++i) value = value * 31 + ((const unsigned char*)bytes)[i];
  return value;
}

static char* made(size_t size, unsigned seed) {
  char* bytes = malloc(size + 1);
  for (size_t i = 0; i < size; ++i) bytes[i] = (char)(i * 7 + i / 251 + seed);
  return bytes;
}

static void tags_of_every_size(void) {
  static const size_t sizes[] = {0, 1, 8, 100, 5000, 40000, 300000, 5000000};
  for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    ucp_request_param_t param = {0};
    char* bytes = made(sizes[i], i);
    if (is_parent) {
      memset(bytes, 0, sizes[i]);
      ucp_tag_recv_info_t info = {0, 0};
      param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
      ucs_status_t status = finish(ucp_tag_recv_nbx(worker, bytes, sizes[i], 0x1000 + i, ~0ul, &param), &info);
      printf("tag %zu: %s, length %zu, tag %lx, sum %u\n", sizes[i], ucs_status_string(status), info.length,
             (unsigned long)info.sender_tag, sum(bytes, sizes[i]));
    } else {
      check(finish(ucp_tag_send_nbx(ep, bytes, sizes[i], 0x1000 + i, &param), NULL), "tag send");
    }
    free(bytes);
  }
  meet();
}

static void masks_and_order(void) {
  static const ucp_tag_t tags[] = {0x11, 0x21, 0x12, 0x11, 0x1F};
  static const ucp_tag_t wanted[] = {0x11, 0x02, 0x20, 0x00, 0x10}, masks[] = {~0ul, 0x0F, 0xF0, 0, 0xF0};
  ucp_request_param_t param = {0};
  if (is_parent) {
    int into[5] = {0};
    void* requests[5];
    param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    for (int i = 0; i < 5; ++i) requests[i] = ucp_tag_recv_nbx(worker, &into[i], 4, wanted[i], masks[i], &param);
    meet();
    for (int i = 0; i < 5; ++i) {
      ucp_tag_recv_info_t info = {0, 0};
      ucs_status_t status = finish(requests[i], &info);
      printf("mask %d: %s, message %d, tag %lx\n", i, ucs_status_string(status), into[i], (unsigned long)info.sender_tag);
    }
  } else {
    meet();
    for (int i = 0; i < 5; ++i) {
      int number = i + 1;
      check(finish(ucp_tag_send_nbx(ep, &number, 4, tags[i], &param), NULL), "tag send");
    }
  }
  meet();
}

static void truncation_and_cancel(void) {
  ucp_request_param_t param = {0};
  for (size_t size = 100; size <= 1000000; size *= 100) {
    char* bytes = made(size, 1);
    if (is_parent) {
      ucp_tag_recv_info_t info = {0, 0};
      param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
      ucs_status_t status = finish(ucp_tag_recv_nbx(worker, bytes, size / 2, 5, ~0ul, &param), &info);
      printf("too long %zu: %s\n", size, ucs_status_string(status));
    } else {
      check(finish(ucp_tag_send_nbx(ep, bytes, size, 5, &param), NULL), "tag send");
    }
    free(bytes);
  }
  if (is_parent) {
    int into = 0;
    void* request = ucp_tag_recv_nbx(worker, &into, 4, 0xDEAD, ~0ul, &param);
    ucp_request_cancel(worker, request);
    printf("cancelled: %s\n", ucs_status_string(finish(request, NULL)));
  }
  meet();
}

static int probe_calls;
static void probe_done(void* request, ucs_status_t status, ucp_tag_recv_info_t* info) {
  (void)request;
  ++probe_calls;
  printf("probed and received: %s, length %zu, tag %lx\n", ucs_status_string(status), info->length,
         (unsigned long)info->sender_tag);
}

static void sent(void* request, ucs_status_t status) {
  (void)request;
  check(status, "sync send");
}

static void probing(void) {
  for (size_t size = 10; size <= 1000000; size *= 100) {
    char* bytes = made(size, 2);
    if (is_parent) {
      ucp_tag_recv_info_t info;
      ucp_tag_message_h message;
      while ((message = ucp_tag_probe_nb(worker, 0x70, 0xF0, 1, &info)) == NULL) ucp_worker_progress(worker);
      printf("probe: length %zu, tag %lx\n", info.length, (unsigned long)info.sender_tag);
      char* into = calloc(1, info.length);
      void* request = ucp_tag_msg_recv_nb(worker, into, info.length, ucp_dt_make_contig(1), message, probe_done);
      while (!ucp_request_is_completed(request)) ucp_worker_progress(worker);
      ucp_request_free(request);
      printf("sum %u, again: %s\n", sum(into, size), ucp_tag_probe_nb(worker, 0x70, 0xF0, 1, &info) ? "found" : "nothing");
      free(into);
    } else {
      check(finish(ucp_tag_send_sync_nb(ep, bytes, size, ucp_dt_make_contig(1), 0x7A, sent), NULL), "sync send");
    }
    free(bytes);
    meet();
  }
}

static void pieces(void) {
  char *a = made(1000, 1), *b = made(3, 2), *c = made(70000, 3);
  ucp_dt_iov_t parts[3] = {{a, 1000}, {b, 3}, {c, 70000}};
  ucp_request_param_t param = {0};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = ucp_dt_make_iov();
  if (is_parent) {
    memset(a, 0, 1000), memset(b, 0, 3), memset(c, 0, 70000);
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    ucp_tag_recv_info_t info = {0, 0};
    ucs_status_t status = finish(ucp_tag_recv_nbx(worker, parts, 3, 9, ~0ul, &param), &info);
    printf("pieces: %s, length %zu, sums %u %u %u\n", ucs_status_string(status), info.length, sum(a, 1000), sum(b, 3),
           sum(c, 70000));
  } else {
    check(finish(ucp_tag_send_nbx(ep, parts, 3, 9, &param), NULL), "pieces");
  }
  free(a), free(b), free(c);
  meet();
}

/* Every other byte of a buffer. What a type stands for may be released by the finish of its last use, so what counts is
 * that each use has one start and one finish. */
static int starts, finishes;
struct strided {
  char* bytes;
  size_t count;
};
static void* start_strided(const void* buffer, size_t count) {
  struct strided* state = malloc(sizeof(*state));
  *state = (struct strided){(char*)buffer, count};
  ++starts;
  return state;
}
static void* start_pack(void* context, const void* buffer, size_t count) {
  (void)context;
  return start_strided(buffer, count);
}
static void* start_unpack(void* context, void* buffer, size_t count) {
  (void)context;
  return start_strided(buffer, count);
}
static size_t packed_size(void* state) { return ((struct strided*)state)->count; }
static size_t pack(void* state, size_t offset, void* into, size_t most) {
  struct strided* from = state;
  size_t i = 0;
  for (; i < most && offset + i < from->count; ++i) ((char*)into)[i] = from->bytes[2 * (offset + i)];
  return i;
}
static ucs_status_t unpack(void* state, size_t offset, const void* from, size_t length) {
  struct strided* into = state;
  for (size_t i = 0; i < length; ++i) into->bytes[2 * (offset + i)] = ((const char*)from)[i];
  return UCS_OK;
}
static void finish_strided(void* state) {
  ++finishes;
  free(state);
}

static void types_of_its_own(void) {
  const ucp_generic_dt_ops_t ops = {start_pack, start_unpack, packed_size, pack, unpack, finish_strided};
  ucp_request_param_t param = {0};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  check(ucp_dt_create_generic(&ops, NULL, &param.datatype), "generic type");
  const size_t sizes[] = {1, 100, 5000, 300000};
  for (int i = 0; i < 4; ++i) {
    char* bytes = made(2 * sizes[i], 7 + i);
    if (is_parent) {
      memset(bytes, 0, 2 * sizes[i]);
      ucp_request_param_t later = param;
      later.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
      ucp_tag_recv_info_t info = {0, 0};
      ucs_status_t status = finish(ucp_tag_recv_nbx(worker, bytes, sizes[i], 10, ~0ul, &later), &info);
      printf("type of its own: %s, length %zu, sum %u\n", ucs_status_string(status), info.length, sum(bytes, 2 * sizes[i]));
    } else {
      check(finish(ucp_tag_send_nbx(ep, bytes, sizes[i], 10, &param), NULL), "type of its own");
    }
    free(bytes);
    meet();
  }
  if (is_parent) {
    printf("types of its own: %d uses begun, %d ended\n", starts, finishes);
    char room[20]; /* (UCX does not end the use of a type by a receive that is cancelled; we do.) */
    void* never = ucp_tag_recv_nbx(worker, room, 10, 11, ~0ul, &param);
    ucp_request_cancel(worker, never);
    printf("type of its own, cancelled: %s\n", ucs_status_string(finish(never, NULL)));
  }
  ucp_dt_destroy(param.datatype);
  meet();
}

// On memory of the program's, or on what libucp allocates.
static void one_sided(int allocated) {
  enum { kSize = 400000 };
  static char own[kSize] __attribute__((aligned(64)));
  ucp_request_param_t param = {0};
  if (!is_parent) {
    ucp_mem_map_params_t map = {0};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.field_mask |= allocated ? UCP_MEM_MAP_PARAM_FIELD_FLAGS : UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
    map.address = allocated ? NULL : own;
    map.flags = allocated ? UCP_MEM_MAP_ALLOCATE : 0;
    map.length = kSize;
    ucp_mem_h mapped;
    void* key;
    size_t size;
    check(ucp_mem_map(context, &map, &mapped), "map");
    ucp_mem_attr_t is = {0};
    is.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
    check(ucp_mem_query(mapped, &is), "query");
    printf("mapped: %s, %s\n", is.length >= kSize ? "long enough" : "too short",
           allocated && (uintptr_t)is.address % 4096 != 0 ? "not whole pages" : "where it should be");
    char* memory = is.address;
    uint64_t address = (uintptr_t)memory;
    for (int i = 0; i < kSize; ++i) memory[i] = (char)(i * 3);
    check(ucp_rkey_pack(context, mapped, &key, &size), "pack");
    send_blob(&address, sizeof(address));
    send_blob(key, size);
    ucp_rkey_buffer_release(key);
    meet();
    uint64_t word;
    memcpy(&word, memory + 64, 8);
    send_blob(&word, 8);
    unsigned whole = sum(memory + 1000, 300000);
    send_blob(&whole, sizeof(whole));
    check(ucp_mem_unmap(context, mapped), "unmap");
    meet();
    return;
  }
  size_t size;
  uint64_t* address = receive_blob(&size);
  void* packed = receive_blob(&size);
  ucp_rkey_h key;
  check(ucp_ep_rkey_unpack(ep, packed, &key), "unpack");
  char* local = malloc(kSize);
  for (size_t bytes = 8; bytes <= 300000; bytes = bytes * 7 + 3) {
    memset(local, 0, kSize);
    ucs_status_t status = finish(ucp_get_nbx(ep, local, bytes, *address + 100, key, &param), NULL);
    printf("get %zu: %s, sum %u\n", bytes, ucs_status_string(status), sum(local, bytes));
  }
  for (int i = 0; i < 300000; ++i) local[i] = (char)(i * 11);
  ucs_status_t status = finish(ucp_put_nbx(ep, local, 300000, *address + 1000, key, &param), NULL);
  printf("put: %s\n", ucs_status_string(status));
  printf("flush: %s\n", ucs_status_string(finish(ucp_ep_flush_nbx(ep, &param), NULL)));
  uint64_t value = 5, before = 0, start = 1000;
  check(finish(ucp_put_nbx(ep, &start, 8, *address + 64, key, &param), NULL), "put 8");
  check(finish(ucp_ep_flush_nbx(ep, &param), NULL), "flush");
  static const ucp_atomic_op_t ops[] = {UCP_ATOMIC_OP_ADD, UCP_ATOMIC_OP_AND, UCP_ATOMIC_OP_OR, UCP_ATOMIC_OP_XOR,
                                        UCP_ATOMIC_OP_SWAP};
  for (int i = 0; i < 5; ++i) {
    value = 0x3F5 + (uint64_t)i;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
    param.reply_buffer = &before;
    param.datatype = ucp_dt_make_contig(8);
    status = finish(ucp_atomic_op_nbx(ep, ops[i], &value, 1, *address + 64, key, &param), NULL);
    printf("atomic %d: %s, before %lu\n", i, ucs_status_string(status), (unsigned long)before);
  }
  for (int i = 0; i < 2; ++i) {
    value = i == 0 ? 1 : 0x3F9;
    before = 77;
    status = finish(ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_CSWAP, &value, 1, *address + 64, key, &param), NULL);
    printf("compare and swap: %s, before %lu\n", ucs_status_string(status), (unsigned long)before);
  }
  ucp_rkey_destroy(key);
  meet();
  uint64_t* word = receive_blob(&size);
  unsigned* whole = receive_blob(&size);
  printf("there: word %lu, sum %u\n", (unsigned long)*word, *whole);
  free(word), free(whole), free(address), free(packed), free(local);
  meet();
}

static int active_calls;
static ucs_status_t active(void* arg, const void* header, size_t header_length, void* data, size_t length,
                           const ucp_am_recv_param_t* param) {
  char* bytes = malloc(length + 1);
  (void)arg;
  if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
    // Fetched outside of the handler.
    *(void**)arg = data;
    ++active_calls;
    free(bytes);
    return UCS_INPROGRESS;
  }
  memcpy(bytes, data, length);
  printf("active: header %.*s, length %zu, sum %u, reply %s\n", (int)header_length, (const char*)header, length,
         sum(bytes, length), param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP ? "possible" : "not asked for");
  free(bytes);
  ++active_calls;
  return UCS_OK;
}

// Keeps the data, as it was promised that it may.
static void* kept;
static size_t kept_length;
static ucs_status_t keeping(void* arg, const void* header, size_t header_length, void* data, size_t length,
                            const ucp_am_recv_param_t* param) {
  (void)arg, (void)header, (void)header_length;
  printf("kept: %s\n", param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA ? "may be" : "may not be");
  kept = data;
  kept_length = length;
  ++active_calls;
  return UCS_INPROGRESS;
}

static void kept_active_message(void) {
  char* bytes = made(1500, 8);
  ucp_request_param_t param = {0};
  active_calls = 0;
  if (is_parent) {
    ucp_am_handler_param_t handler = {0};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.id = 4;
    handler.cb = keeping;
    handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
    check(ucp_worker_set_am_recv_handler(worker, &handler), "handler");
  }
  meet();
  for (int i = 0; i < 2; ++i) {
    if (!is_parent) {
      param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = UCP_AM_SEND_FLAG_EAGER;
      check(finish(ucp_am_send_nbx(ep, 4, NULL, 0, bytes, 1500, &param), NULL), "active send");
    } else {
      while (active_calls != i + 1) ucp_worker_progress(worker);
    }
    meet();
    if (is_parent) {
      printf("kept: length %zu, sum %u\n", kept_length, sum(kept, kept_length));
      ucp_am_data_release(worker, kept);
    }
    meet();
  }
  free(bytes);
}

static void active_messages(void) {
  static void* pending;
  if (is_parent) {
    ucp_am_handler_param_t handler = {0};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = 3;
    handler.cb = active;
    handler.arg = &pending;
    check(ucp_worker_set_am_recv_handler(worker, &handler), "handler");
  }
  meet();
  static const size_t sizes[] = {0, 10, 2000, 5000};
  for (unsigned i = 0; i < 4; ++i) {
    if (is_parent) {
      while (active_calls != (int)i + 1) ucp_worker_progress(worker);
    } else {
      char* bytes = made(sizes[i], i);
      ucp_request_param_t param = {0};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = (i % 2 ? UCP_AM_SEND_FLAG_REPLY : 0) | UCP_AM_SEND_FLAG_EAGER;
      check(finish(ucp_am_send_nbx(ep, 3, "abc", 3, bytes, sizes[i], &param), NULL), "active send");
      free(bytes);
    }
    meet();
  }
}

static void streams(void) {
  char* bytes = made(100000, 5);
  ucp_request_param_t param = {0};
  if (is_parent) {
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_STREAM_RECV_FLAG_WAITALL;
    memset(bytes, 0, 100000);
    size_t length = 0;
    for (int part = 0; part < 4; ++part) {
      ucs_status_ptr_t request = ucp_stream_recv_nbx(ep, bytes + part * 25000, 25000, &length, &param);
      if (UCS_PTR_IS_PTR(request)) {
        while (ucp_stream_recv_request_test(request, &length) == UCS_INPROGRESS) ucp_worker_progress(worker);
        ucp_request_free(request);
      }
      printf("stream: %zu\n", length);
    }
    printf("stream sum %u\n", sum(bytes, 100000));
  } else {
    for (size_t at = 0; at < 100000;) {
      size_t part = at % 3 == 0 ? 1 : at % 3 == 1 ? 12345 : 40000;
      if (part > 100000 - at) part = 100000 - at;
      check(finish(ucp_stream_send_nbx(ep, bytes + at, part, &param), NULL), "stream send");
      at += part;
    }
  }
  free(bytes);
  meet();
}

static void exchange_something(void) {
  char none[8] = {0};
  ucp_request_param_t param = {0};
  ucs_status_ptr_t sent = ucp_tag_send_nbx(ep, none, sizeof(none), 1, &param);
  check(finish(ucp_tag_recv_nbx(worker, none, sizeof(none), 1, ~0ull, &param), NULL), "first receive");
  check(finish(sent, NULL), "first send");
  meet();
}

// One sends, flushes and closes while the other makes no progress; then the other way round. Neither may wait for the
// peer's answer: at the end of an MPI program it doesn't come.
static void leave_one_after_the_other(void) {
  enum { count = 10 };
  size_t size;
  ucp_request_param_t param = {0};
  ucs_status_t flushed = UCS_OK, closed;
  exchange_something();
  if (is_parent) free(receive_blob(&size));
  for (unsigned i = 0; i < count; ++i) {
    char* bytes = made(i * 20, i);
    check(finish(ucp_tag_send_nbx(ep, bytes, i * 20, 9000 + i, &param), NULL), "last send");
    free(bytes);
  }
  flushed = finish(ucp_ep_flush_nbx(ep, &param), NULL);
  if (flushed == UCS_OK) flushed = finish(ucp_worker_flush_nbx(worker, &param), NULL);
  if (is_parent) {
    for (unsigned i = 0; i < count; ++i) {
      char room[count * 20];
      ucs_status_t status = finish(ucp_tag_recv_nbx(worker, room, sizeof(room), 9000 + i, ~0ull, &param), NULL);
      printf("left %u: %s %08x\n", i, ucs_status_string(status), sum(room, i * 20));
    }
  }
  closed = finish(ucp_ep_close_nbx(ep, &param), NULL);
  if (is_parent) printf("flush: %s, close: %s\n", ucs_status_string(flushed), ucs_status_string(closed));
  send_blob("", 1);
  if (!is_parent) free(receive_blob(&size));
}

static int end(pid_t child) {
  meet();
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
  int code = 0;
  return is_parent && (waitpid(child, &code, 0) < 0 || code != 0) ? 6 : 0;
}

int main(int argc, char** argv) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 5;
  setvbuf(stdout, NULL, _IOLBF, 0);
  pid_t child = fork();
  is_parent = child != 0;
  to_peer = is_parent ? there[1] : back[1];
  from_peer = is_parent ? back[0] : there[0];
  close(is_parent ? there[0] : there[1]);
  close(is_parent ? back[1] : back[0]);

  ucp_params_t params = {0};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AM | UCP_FEATURE_STREAM;
  check(ucp_init(&params, NULL, &context), "init");
  ucp_worker_params_t worker_params = {0};
  check(ucp_worker_create(context, &worker_params, &worker), "worker");
  ucp_address_t* address;
  size_t size;
  check(ucp_worker_get_address(worker, &address, &size), "address");
  send_blob(address, size);
  ucp_worker_release_address(worker, address);
  void* theirs = receive_blob(&size);
  ucp_ep_params_t ep_params = {0};
  ep_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  ep_params.address = theirs;
  check(ucp_ep_create(worker, &ep_params, &ep), "ep");
  free(theirs);

  if (argc > 1 && strcmp(argv[1], "leave") == 0) {
    leave_one_after_the_other();
    return end(child);
  }
  tags_of_every_size();
  masks_and_order();
  truncation_and_cancel();
  probing();
  pieces();
  types_of_its_own();
  one_sided(0);
  one_sided(1);
  active_messages();
  kept_active_message();
  streams();

  ucp_request_param_t param = {0};
  ucs_status_t closed = finish(ucp_ep_close_nbx(ep, &param), NULL);
  if (is_parent) printf("close: %s\n", ucs_status_string(closed));
  return end(child);
}
