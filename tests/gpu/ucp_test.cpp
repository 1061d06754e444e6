// A program for UCX that sends memory of GPUs, on our libucp (machine/c-face) and fake GPUs.
#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

struct Side {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h to_other = nullptr;
};

class UcpTest : public GpuTest {
 protected:
  UcpTest() {
    for (Side& side : sides) {
      ucp_params_t params = {};
      params.field_mask = UCP_PARAM_FIELD_FEATURES;
      params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
      EXPECT_EQ(ucp_init(&params, nullptr, &side.context), UCS_OK);
      ucp_worker_params_t worker = {};
      EXPECT_EQ(ucp_worker_create(side.context, &worker, &side.worker), UCS_OK);
    }
    for (int i : {0, 1}) {
      ucp_address_t* address = nullptr;
      std::size_t length = 0;
      EXPECT_EQ(ucp_worker_get_address(sides[1 - i].worker, &address, &length), UCS_OK);
      ucp_ep_params_t params = {};
      params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      params.address = address;
      EXPECT_EQ(ucp_ep_create(sides[i].worker, &params, &sides[i].to_other), UCS_OK);
      ucp_worker_release_address(sides[1 - i].worker, address);
    }
  }
  ~UcpTest() override {
    for (Side& side : sides) {
      ucp_worker_destroy(side.worker);
      ucp_cleanup(side.context);
    }
  }
  ucs_status_t finish(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request);
    ucs_status_t status = UCS_INPROGRESS;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
      for (Side& side : sides) ucp_worker_progress(side.worker);
    }
    ucp_request_free(request);
    return status;
  }
  ucs_memory_type_t type() const {
    return std::string(GetParam()) == "cuda" ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_ROCM;
  }
  ucp_request_param_t param() const {
    ucp_request_param_t param = {};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = type();
    return param;
  }

  Side sides[2];
};

TEST_P(UcpTest, TaggedMessagesGoFromDeviceToDevice) {
  const ucp_request_param_t on_device = param();
  for (std::uint64_t size : {std::uint64_t{8}, std::uint64_t{5000}, std::uint64_t{2'000'000}}) {
    std::byte *from = make(MemoryType::device, size), *to = make(MemoryType::device, size);
    write(from, pattern(size, 3));
    ucs_status_ptr_t receive = ucp_tag_recv_nbx(sides[1].worker, to, size, 7, ~0ull, &on_device);
    EXPECT_EQ(finish(ucp_tag_send_nbx(sides[0].to_other, from, size, 7, &on_device)), UCS_OK);
    EXPECT_EQ(finish(receive), UCS_OK);
    EXPECT_EQ(read(to, size), pattern(size, 3));
    write(from, pattern(size, 4));
    ucs_status_ptr_t sync = ucp_tag_send_sync_nbx(sides[0].to_other, from, size, 8, &on_device);
    receive = ucp_tag_recv_nbx(sides[1].worker, to, size, 8, ~0ull, &on_device);
    EXPECT_EQ(finish(sync), UCS_OK);
    EXPECT_EQ(finish(receive), UCS_OK);
    EXPECT_EQ(read(to, size), pattern(size, 4));
  }
}

TEST_P(UcpTest, PutsAndGetsReachMappedDeviceMemory) {
  constexpr std::uint64_t kSize = 100'000;
  const ucp_request_param_t on_device = param();
  std::byte *there = make(MemoryType::device, kSize), *here = make(MemoryType::device, kSize);
  ucp_mem_map_params_t params = {};
  params.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = there;
  params.length = kSize;
  params.memory_type = type();
  ucp_mem_h memory = nullptr;
  ASSERT_EQ(ucp_mem_map(sides[1].context, &params, &memory), UCS_OK);
  ucp_mem_attr_t attr = {};
  attr.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE;
  EXPECT_EQ(ucp_mem_query(memory, &attr), UCS_OK);
  EXPECT_EQ(attr.mem_type, type());
  void* packed = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(ucp_rkey_pack(sides[1].context, memory, &packed, &length), UCS_OK);
  ucp_rkey_h key = nullptr;
  ASSERT_EQ(ucp_ep_rkey_unpack(sides[0].to_other, packed, &key), UCS_OK);
  ucp_rkey_buffer_release(packed);
  write(here, pattern(kSize, 5));
  const auto remote = reinterpret_cast<std::uintptr_t>(there);
  EXPECT_EQ(finish(ucp_put_nbx(sides[0].to_other, here, kSize, remote, key, &on_device)), UCS_OK);
  const ucp_request_param_t plain = {};
  EXPECT_EQ(finish(ucp_ep_flush_nbx(sides[0].to_other, &plain)), UCS_OK);
  EXPECT_EQ(read(there, kSize), pattern(kSize, 5));
  write(there, pattern(kSize, 6));
  EXPECT_EQ(finish(ucp_get_nbx(sides[0].to_other, here, kSize, remote, key, &on_device)), UCS_OK);
  EXPECT_EQ(read(here, kSize), pattern(kSize, 6));
  ucp_rkey_destroy(key);
  EXPECT_EQ(ucp_mem_unmap(sides[1].context, memory), UCS_OK);
}

TEST_P(UcpTest, WhatIsNotThereIsSaid) {
  ucp_context_attr_t attr = {};
  attr.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  EXPECT_EQ(ucp_context_query(sides[0].context, &attr), UCS_OK);
  EXPECT_NE(attr.memory_types & UCS_BIT(type()), 0u);
  std::byte* memory = make(MemoryType::device, 100);
  ucp_request_param_t on_device = param();
  EXPECT_EQ(UCS_PTR_STATUS(ucp_stream_send_nbx(sides[0].to_other, memory, 100, &on_device)), UCS_ERR_UNSUPPORTED);
  EXPECT_EQ(UCS_PTR_STATUS(ucp_am_send_nbx(sides[0].to_other, 1, nullptr, 0, memory, 100, &on_device)),
            UCS_ERR_UNSUPPORTED);
  on_device.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  on_device.datatype = ucp_dt_make_iov();
  EXPECT_EQ(UCS_PTR_STATUS(ucp_tag_send_nbx(sides[0].to_other, memory, 1, 7, &on_device)), UCS_ERR_UNSUPPORTED);
}

INSTANTIATE_TEST_SUITE_P(Both, UcpTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
